-- A new function may be called by everybody. Who may call which is said in `roles/`.
REVOKE ALL ON ALL ROUTINES IN SCHEMA failproof FROM PUBLIC;
