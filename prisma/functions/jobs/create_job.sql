-- Creates a whole tree of jobs, with the items that it starts with.
--
-- p_tree     JSON of the root: {type, maxFailuresPerItem?, backoffMs?, backoffJitter?, heartbeatIntervalMs?, priority?,
--            runAt?, finalStage?, toleratedFailureCount?, toleratedFailurePercentage?, serializeOnFailure?, name?, after?, dedupeKey?, sealed?,
--            feed?, items?, file?, callbacks?, traceContext?, children?, retentionSeconds?, idleExpirySeconds?}; children are the same, and any
--            depth up to 32. after: link_jobs. Only for the root: callbacks (add_callbacks); traceContext, for the items that the tree
--            starts with (check_trace_context); retentionSeconds and idleExpirySeconds, which default to the servers' settings, and are
--            never if they are null. Only for children: feed, {source: SUCCESSES|REPORTS, forEach?, payload?, serializeKey?}
--            (feed_items). file: add_file, which has a server add the lines of an upload and seal the job.
--            The defaults of priority, failures, backoff and heartbeats come from the queue of the type, if it has them.
--            A job without children is a final stage unless finalStage says otherwise. The ids of the jobs ascend in the order of
--            the document, parents before their children.
-- returns    the root's id, and whether it is new; if another job of the type has the dedupeKey, that job's id
-- errors     JT002 a tree that is too deep or too large, a child's dedupeKey that is in use, or an invalid job, items (check_job),
--            after (link_jobs), callbacks (add_callbacks) or file (add_file)
create or replace function jobtree.create_job(p_tree json)
returns table (job_id uuid, created boolean)
language sql volatile
-- plans: no seqscan
as $$
  select c.job_id, c.created from jobtree.create_jobs(json_build_array(p_tree)) c
$$;
