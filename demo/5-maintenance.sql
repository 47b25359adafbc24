SELECT snapshot_id, commit_kind, commit_time, total_record_count, delta_record_count
FROM streamhouse.snapshots('lake.flights') ORDER BY snapshot_id DESC LIMIT 8;
SELECT bucket, level, count(*) AS files, sum(record_count) AS records, pg_size_pretty(sum(file_size_in_bytes)) AS size
FROM streamhouse.files('lake.flights') GROUP BY bucket, level ORDER BY bucket, level;
CALL streamhouse.compact('lake.flights');
CALL streamhouse.expire_snapshots('lake.flights', retain_max => 1, retain_min => 1, older_than => now());
SELECT bucket, level, count(*) AS files, sum(record_count) AS records, pg_size_pretty(sum(file_size_in_bytes)) AS size
FROM streamhouse.files('lake.flights') GROUP BY bucket, level ORDER BY bucket, level;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM lake.flights WHERE id = 'UA1545-20130101-EWR';
