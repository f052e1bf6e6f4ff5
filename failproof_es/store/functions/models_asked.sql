-- The models under test of a RunStarted, each as [provider, name] in one text, as
-- `experiment.models_of` tells them apart: overlapping runs share one. NULL where that is not
-- said in the form in which the engine says it.
CREATE OR REPLACE FUNCTION failproof.models_asked(payload json) RETURNS text[]
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN bool_and(
            json_typeof(model) = 'object'
            AND json_typeof(model -> 'provider') = 'string'
            AND json_typeof(model -> 'model') = 'string'
            AND coalesce(json_typeof(model -> 'settings'), 'null') IN ('object', 'null')
            AND coalesce(json_typeof(told.name), 'null') IN ('string', 'null')
        ) THEN array_agg(DISTINCT json_build_array(
            model ->> 'provider', coalesce(nullif(told.name #>> '{}', ''), model ->> 'model')
        )::text)
    END
    FROM json_array_elements(payload -> 'models') AS model
    CROSS JOIN LATERAL (
        SELECT model -> 'settings' -> CASE model ->> 'provider'
            WHEN 'local' THEN 'weights_sha256' WHEN 'python' THEN 'class' ELSE 'identity'
        END
    ) AS told (name);
$$;
