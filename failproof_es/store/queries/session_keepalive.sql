-- Let the server end this session within 20 s of its client's host going silent.
SELECT
    set_config('tcp_keepalives_idle', '5', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)
