-- The collections of specification 001 § 2.1, computed from the log whenever they are read:
-- they are as current as it is, and nothing that is rebuilt takes them along.
DO $$
BEGIN
    IF to_regnamespace('promptguard') IS NULL THEN
        CREATE SCHEMA promptguard;
    END IF;
END;
$$;
