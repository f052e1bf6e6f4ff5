DELETE FROM failproof_queue.failproof_workers WHERE worker_id = %(worker_id)s
