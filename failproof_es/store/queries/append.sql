SELECT append FROM failproof.append(
    %b::uuid[], %b::bigint[], %b::text[], %b::bytea[], %b::uuid[], %b::uuid, %b::bigint
) AS append
