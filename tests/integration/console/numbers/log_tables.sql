-- What the log says, read from the bytes of its events alone: neither projections nor the project's
-- own functions, but for the price of an answer (failproof.cost_usd), which tests of its own hold.
CREATE TEMP TABLE log AS
SELECT notification_id AS position, originator_id AS stream, originator_version AS version, topic,
    run_id, recorded_at, octet_length(state) AS bytes, convert_from(state, 'UTF8')::jsonb AS p,
    (convert_from(state, 'UTF8')::jsonb ->> 'timestamp')::timestamptz AS at
FROM failproof.stored_events;

CREATE TEMP TABLE run AS
SELECT run_id, position, at, p, (p ->> 'run_number')::int AS number, (p ->> 'attempt')::int AS attempt,
    (p ->> 'planned_evaluations')::int AS planned, p ->> 'name' AS name,
    p #>> '{experiment,digest}' AS experiment,
    (p #>> '{configuration,execution,repetitions}')::int AS repetitions
FROM log WHERE topic = 'RunStarted';

CREATE TEMP TABLE stored_case AS
SELECT stream AS prompt_id, position, p #>> '{case,suite_id}' AS suite, p #>> '{case,case_id}' AS name,
    coalesce(p #>> '{case,category}', p #>> '{case,suite_id}') AS category,
    p #>> '{case,severity}' AS severity
FROM log WHERE topic = 'PromptStored';

CREATE TEMP TABLE answer AS
SELECT l.run_id, l.stream AS evaluation, l.position, l.p ->> 'model_key' AS model,
    coalesce(l.p ->> 'judge', l.p ->> 'model_key') AS asked, l.p ->> 'purpose' AS purpose,
    (l.p ->> 'latency_ms')::float8 AS latency_ms,
    (l.p #>> '{usage,input_tokens}')::int AS input_tokens,
    (l.p #>> '{usage,output_tokens}')::int AS output_tokens,
    failproof.cost_usd(prices.prices, (l.p -> 'usage')::json, l.at) AS cost_usd
FROM log AS l
LEFT JOIN failproof.price_list AS prices
    ON prices.run_id = l.run_id AND prices.model_key = coalesce(l.p ->> 'judge', l.p ->> 'model_key')
WHERE l.topic = 'ResponseReceived';

-- Requests without an answer that their server may have charged, at the most that they may cost: a
-- token of input for each byte of the body and 1,024 more, and max_tokens of output.
CREATE TEMP TABLE charged AS
SELECT o.run_id, o.p ->> 'model_key' AS model, coalesce(o.p ->> 'judge', o.p ->> 'model_key') AS asked,
    ((octet_length(s.p ->> 'body') + 1024) * (rate ->> 'input')::numeric
        + (s.p #>> '{parameters,max_tokens}')::int * (rate ->> 'output')::numeric) / 1000000 AS usd
FROM log AS o
JOIN log AS s ON s.stream = o.stream AND s.version = o.version - 1 AND s.topic = 'RequestSent'
LEFT JOIN failproof.price_list AS prices
    ON prices.run_id = o.run_id AND prices.model_key = coalesce(o.p ->> 'judge', o.p ->> 'model_key')
LEFT JOIN LATERAL (SELECT prices.prices::jsonb #> '{rates,0}' AS rate) AS r ON true
WHERE o.topic = 'AttemptOrphaned'
    OR o.topic = 'ErrorRecorded' AND coalesce((o.p ->> 'status')::int, 0) NOT BETWEEN 400 AND 498;

CREATE TEMP TABLE evaluation AS
SELECT l.stream AS id, l.run_id, run.number, l.p ->> 'model_key' AS model,
    (l.p ->> 'prompt_id')::uuid AS prompt_id, (l.p ->> 'repetition')::int AS repetition,
    min(l.position) AS first_position, max(l.position) AS last_position,
    count(*) FILTER (WHERE l.topic = 'RequestSent') AS requests,
    count(*) FILTER (WHERE l.topic = 'RequestSent' AND (l.p ->> 'attempt')::int > 1) AS retries,
    count(*) FILTER (WHERE l.topic = 'ResponseReceived') AS answers,
    count(*) FILTER (WHERE l.topic = 'ErrorRecorded') AS errors,
    count(*) FILTER (WHERE l.topic = 'AttemptOrphaned') AS orphaned_requests,
    count(*) FILTER (WHERE l.topic = 'RequestSent')
        > count(*) FILTER (WHERE l.topic IN ('ResponseReceived', 'ErrorRecorded', 'AttemptOrphaned'))
        AS in_flight,
    bool_or(l.topic = 'Scored') AS scored, bool_or(l.topic = 'EvaluationAbandoned') AS abandoned,
    bool_or((l.p ->> 'passed')::bool) FILTER (WHERE l.topic = 'Scored') AS passed,
    max((l.p #>> '{scores,accuracy}')::float8) FILTER (WHERE l.topic = 'Scored') AS accuracy,
    max(l.p ->> 'primary') FILTER (WHERE l.topic = 'Classified') AS class,
    max((l.p ->> 'latency_ms')::float8) FILTER (WHERE l.topic = 'ResponseReceived') AS latency_ms,
    max(l.at) FILTER (WHERE l.topic IN ('Scored', 'EvaluationAbandoned')) AS ended_at,
    max(l.p ->> 'kind') FILTER (WHERE l.topic = 'EvaluationAbandoned') AS abandoned_by,
    max(l.p ->> 'reason') FILTER (WHERE l.topic = 'EvaluationAbandoned') AS reason,
    (SELECT CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END::float8 FROM answer
        WHERE answer.evaluation = l.stream) AS cost_usd
FROM log AS l
JOIN run USING (run_id)
WHERE l.p ? 'prompt_id' AND l.p ? 'model_key'
GROUP BY l.stream, l.run_id, run.number, l.p ->> 'model_key', l.p ->> 'prompt_id', l.p ->> 'repetition';

-- Counts of evaluations, by run and model, and of each run in all (`model` is null).
CREATE TEMP TABLE counts AS
SELECT number, e.model, count(*) FILTER (WHERE scored OR abandoned) AS finished,
    count(*) FILTER (WHERE scored) AS scored, count(*) FILTER (WHERE passed) AS passed,
    count(*) FILTER (WHERE NOT passed) AS failed, count(*) FILTER (WHERE abandoned) AS abandoned,
    count(*) FILTER (WHERE abandoned) AS lost, count(*) FILTER (WHERE in_flight) AS in_flight,
    sum(requests)::int AS requests, sum(answers)::int AS answers, sum(retries)::int AS retries,
    sum(errors)::int AS failed_requests, sum(orphaned_requests)::int AS orphaned_requests,
    count(DISTINCT (e.model, prompt_id)) FILTER (WHERE scored OR abandoned) AS cases
FROM evaluation AS e
GROUP BY GROUPING SETS ((number, e.model), (number));
