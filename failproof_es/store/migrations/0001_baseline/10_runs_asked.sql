-- What each run asked, as `take_in_runs` reads it from the log: which attempt a run is, and how
-- many overlap with it, is then looked up instead of counted over every run there is. The log is
-- what counts: these tables hold nothing that it does not say.

-- The cases of runs, as what is sent (`experiment.question_digest`): a set of them stands once,
-- however many runs asked it.
CREATE TABLE failproof.question_sets (
    set_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    questions bigint NOT NULL
);
COMMENT ON TABLE failproof.question_sets IS 'Every set of cases that a run asked, once.';

-- The first half of each digest: 128 bits.
CREATE TABLE failproof.questions_asked (
    question uuid NOT NULL,
    set_id bigint NOT NULL,
    PRIMARY KEY (question, set_id)
);
COMMENT ON TABLE failproof.questions_asked IS 'Which sets hold a case.';

-- Both ways, where they share at least half of the cases of the smaller one.
CREATE TABLE failproof.questions_shared (
    set_id bigint NOT NULL,
    other_id bigint NOT NULL,
    shared bigint NOT NULL,
    PRIMARY KEY (set_id, other_id)
);
COMMENT ON TABLE failproof.questions_shared IS
    'Sets that hold at least half of the cases of the smaller one of them.';

CREATE TABLE failproof.askings (
    asking_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment text NOT NULL,
    set_id bigint NOT NULL,
    models text [] NOT NULL,
    models_sha256 bytea NOT NULL,
    runs bigint NOT NULL,
    UNIQUE (experiment, set_id, models_sha256)
);
CREATE INDEX askings_set_idx ON failproof.askings (set_id);
COMMENT ON TABLE failproof.askings IS 'What runs asked, once, and how many runs asked it.';

CREATE TABLE failproof.runs_asked (
    run_number bigint PRIMARY KEY,
    run_id uuid NOT NULL,
    -- NULL where its first events do not say in today's form what it asked.
    asking_id bigint,
    experiment text,
    -- Which attempt of its experiment it is, of those that have an asking.
    place bigint,
    CHECK (
        (asking_id IS NULL) = (experiment IS NULL) AND (asking_id IS NULL) = (place IS NULL)
    )
);
CREATE INDEX runs_asked_asking_idx ON failproof.runs_asked (asking_id, run_number)
WHERE asking_id IS NOT NULL;
CREATE INDEX runs_asked_experiment_idx ON failproof.runs_asked (experiment, run_number)
WHERE experiment IS NOT NULL;
CREATE INDEX runs_asked_otherwise_idx ON failproof.runs_asked (run_number)
WHERE asking_id IS NULL;
CREATE INDEX runs_asked_run_idx ON failproof.runs_asked (run_id);
COMMENT ON TABLE failproof.runs_asked IS 'What each run asked, and which attempt it is.';

CREATE VIEW failproof.question_set_list WITH (security_invoker = true) AS
SELECT set_id, digest, questions FROM failproof.question_sets;
CREATE VIEW failproof.question_asked_list WITH (security_invoker = true) AS
SELECT question, set_id FROM failproof.questions_asked;
CREATE VIEW failproof.question_shared_list WITH (security_invoker = true) AS
SELECT set_id, other_id, shared FROM failproof.questions_shared;
CREATE VIEW failproof.asking_list WITH (security_invoker = true) AS
SELECT asking_id, experiment, set_id, models, runs FROM failproof.askings;
CREATE VIEW failproof.run_asked_list WITH (security_invoker = true) AS
SELECT run_number, run_id, asking_id, experiment, place FROM failproof.runs_asked;
