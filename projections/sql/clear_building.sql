-- What a rebuild that died has left. By name: a view that went with its table has no regclass.
DO $$
DECLARE
    leftover text;
BEGIN
    FOR leftover IN
        SELECT format(
            'DROP %s IF EXISTS projections_building.%I CASCADE',
            CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
            relname
        )
        FROM pg_class
        WHERE relnamespace = to_regnamespace('projections_building') AND relkind IN ('r', 'v')
    LOOP
        EXECUTE leftover;
    END LOOP;
END;
$$;
