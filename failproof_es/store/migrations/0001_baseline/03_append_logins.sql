-- Which login appended an event, as the database knows it: what a client says of itself is a claim.
-- One row for each change of the login, so that events stay as small as they are.
CREATE TABLE failproof.append_logins (
    from_position bigint PRIMARY KEY,
    login name NOT NULL
);
COMMENT ON TABLE failproof.append_logins IS
    'The session_user of appends: that of an event is in the last row at or below its position.';

CREATE VIEW failproof.append_login_list WITH (security_invoker = true) AS
SELECT
    from_position,
    lead(from_position) OVER (ORDER BY from_position) - 1 AS to_position,
    login::text AS login
FROM failproof.append_logins;
COMMENT ON VIEW failproof.append_login_list IS
    'Which login appended the events from one position to another; NULL: up to the end.';
