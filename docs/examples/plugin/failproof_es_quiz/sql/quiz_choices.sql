CREATE TABLE quiz_choices (
    run_id uuid NOT NULL,
    model_key text NOT NULL,
    choice text NOT NULL,
    times bigint NOT NULL,
    PRIMARY KEY (run_id, model_key, choice)
);
COMMENT ON TABLE quiz_choices IS 'How often a model chose each letter in a run of quizzes.';
