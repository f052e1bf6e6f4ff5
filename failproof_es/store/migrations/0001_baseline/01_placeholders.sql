-- Functions that tables and triggers name. Their bodies come in `functions/`, which `db init` runs next.
CREATE FUNCTION failproof.refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet' USING ERRCODE = 'FP002';
END;
$$;

CREATE FUNCTION failproof.refuse_old_epoch() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet' USING ERRCODE = 'FP002';
END;
$$;

CREATE FUNCTION failproof.require_whole_run() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet' USING ERRCODE = 'FP008';
END;
$$;

CREATE FUNCTION failproof.current_tree() RETURNS integer
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet';
END;
$$;

CREATE FUNCTION failproof.note_access() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'not installed yet' USING ERRCODE = 'FP002';
END;
$$;
