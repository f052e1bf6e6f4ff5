-- Note what the next runs asked, `most` of them at most and those before a number, and return how
-- many were noted. Each is read from the log, its plan where no run before asked the same cases,
-- and noted once. What no engine wrote is noted without an asking: whoever
-- counts reads its first event. Nothing that stands in the log makes this fail.
CREATE OR REPLACE FUNCTION failproof.take_in_runs(
    most bigint, before bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    next record;
    payload json;
    said_experiment text;
    said_questions text;
    said_models text[];
    keys uuid[];
    plan_digest text;
    its_set bigint;
    its_asking bigint;
    its_place bigint;
    noted bigint := 0;
BEGIN
    LOCK TABLE failproof.runs_asked IN SHARE UPDATE EXCLUSIVE MODE;
    FOR next IN
        SELECT numbers.run_number, numbers.run_id
        FROM failproof.run_numbers AS numbers
        WHERE numbers.run_number > coalesce(
                (SELECT max(stands.run_number) FROM failproof.runs_asked AS stands), 0
            )
            AND (before IS NULL OR numbers.run_number < before)
        ORDER BY numbers.run_number
        LIMIT most
    LOOP
        its_asking := NULL;
        its_place := NULL;
        said_experiment := NULL;
        BEGIN
            SELECT failproof.readable(convert_from(e.state, 'UTF8')::json) INTO payload
            FROM failproof.events AS e
            WHERE e.originator_id = next.run_id
                AND e.originator_version = 1
                AND e.topic = 'RunStarted';
            said_experiment := payload #>> '{experiment,digest}';
            said_questions := payload #>> '{experiment,questions}';
            said_models := failproof.models_asked(payload);
            IF said_experiment ~ '^[0-9a-f]{64}$'
                AND said_questions ~ '^[0-9a-f]{64}$'
                AND said_models IS NOT NULL
                AND (payload ->> 'run_number')::bigint = next.run_number
            THEN
                SELECT s.set_id INTO its_set
                FROM failproof.question_sets AS s WHERE s.digest = said_questions;
                IF NOT FOUND THEN
                    SELECT
                        coalesce(array_agg(left(q.digest, 32)::uuid), '{}'),
                        encode(sha256(convert_to(
                            '[' || coalesce(
                                string_agg('"' || q.digest || '"', ',' ORDER BY q.digest), ''
                            ) || ']', 'UTF8'
                        )), 'hex')
                    INTO keys, plan_digest
                    FROM (
                        SELECT DISTINCT listed.digest COLLATE "C" AS digest
                        FROM failproof.events AS e
                        CROSS JOIN LATERAL json_array_elements_text(
                            convert_from(e.state, 'UTF8')::json -> 'questions'
                        ) AS listed (digest)
                        WHERE e.originator_id = next.run_id AND e.topic = 'CasesPlanned'
                    ) AS q;
                    IF plan_digest = said_questions THEN
                        INSERT INTO failproof.question_sets AS s (digest, questions)
                        VALUES (said_questions, cardinality(keys)) RETURNING s.set_id INTO its_set;
                        INSERT INTO failproof.questions_shared (set_id, other_id, shared)
                        SELECT CASE way WHEN 1 THEN its_set ELSE found.other_id END,
                            CASE way WHEN 1 THEN found.other_id ELSE its_set END, found.shared
                        FROM failproof.sets_that_share(keys, 0) AS found
                        CROSS JOIN generate_series(1, 2) AS way;
                        INSERT INTO failproof.questions_asked (question, set_id)
                        SELECT key, its_set FROM unnest(keys) AS key ORDER BY key;
                    END IF;
                END IF;
                IF its_set IS NOT NULL THEN
                    SELECT coalesce(sum(a.runs), 0) + 1 INTO its_place
                    FROM failproof.askings AS a WHERE a.experiment = said_experiment;
                    INSERT INTO failproof.askings AS a
                        (experiment, set_id, models, models_sha256, runs)
                    VALUES (
                        said_experiment, its_set, said_models,
                        sha256(convert_to(array_to_json(said_models)::text, 'UTF8')), 1
                    )
                    ON CONFLICT (experiment, set_id, models_sha256) DO UPDATE SET runs = a.runs + 1
                    RETURNING a.asking_id INTO its_asking;
                END IF;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            its_asking := NULL;
            its_place := NULL;
        END;
        INSERT INTO failproof.runs_asked (run_number, run_id, asking_id, experiment, place)
        VALUES (
            next.run_number, next.run_id, its_asking,
            CASE WHEN its_asking IS NOT NULL THEN said_experiment END, its_place
        );
        noted := noted + 1;
    END LOOP;
    RETURN noted;
END;
$$;
