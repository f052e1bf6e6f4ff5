SELECT append FROM failproof.append(
    %b::uuid[], %b::bigint[], %b::text[], %b::bytea[], %b::uuid[], %b::bytea[],
    %b::uuid[], %b::integer[], %b::bigint[]
) AS append
