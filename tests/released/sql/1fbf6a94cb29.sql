-- The writer defers and takes jobs; the auditor looks. Nobody else may anything.
REVOKE ALL ON SCHEMA failproof_queue FROM PUBLIC;
GRANT USAGE ON SCHEMA failproof_queue TO failproof_writer, failproof_auditor;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA failproof_queue TO failproof_writer;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA failproof_queue TO failproof_writer;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA failproof_queue TO failproof_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA failproof_queue TO failproof_auditor;
-- The functions of the log run as its owner: a share of limits is for a worker that is listed here.
GRANT USAGE ON SCHEMA failproof_queue TO failproof_owner;
GRANT SELECT ON failproof_queue.failproof_workers TO failproof_owner;
