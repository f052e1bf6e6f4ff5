-- The collections are views that ask on behalf of their reader, and functions that run as their caller.
GRANT SELECT ON ALL TABLES IN SCHEMA promptguard TO failproof_reader;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA promptguard TO failproof_reader;
