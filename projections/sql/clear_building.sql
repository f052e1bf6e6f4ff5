-- What a rebuild that died has left.
DO $$
DECLARE
    leftover text;
BEGIN
    FOR leftover IN
        SELECT format(
            'DROP %s IF EXISTS %s CASCADE',
            CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
            oid::regclass
        )
        FROM pg_class
        WHERE relnamespace = to_regnamespace('projections_building') AND relkind IN ('r', 'v')
    LOOP
        EXECUTE leftover;
    END LOOP;
END;
$$;
