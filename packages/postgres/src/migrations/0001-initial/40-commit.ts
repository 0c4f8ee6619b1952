export const COMMIT = String.raw`
-- The list of code identities that have parked a run, the latest first; at most eight. Or that a person has paused it.
create function with_parker(p_parked_by text, p_code text) returns text language sql immutable as $$
  select case when p_code = 'paused' then p_code else array_to_string((array[p_code] || array_remove(string_to_array(p_parked_by, ' '), p_code))[1:8], ' ') end $$;

-- One flush. The arrays of the first group have one entry per run; those of the others (events, attributes, continuations,
-- carried messages, tasks) point at the run by its position, counted from 1.
create function commit_runs(
  w_worker uuid[], w_namespace text[],  -- the holders: each pair of a worker and a namespace once
  p_skip boolean,        -- skip rows that another transaction has locked; otherwise such a row is an error (55P03)
  p_run uuid[],
  p_by int[],            -- the position of its worker
  p_epoch int[], p_commit int[], p_consumed int[], p_events int[],
  p_count int[],         -- how many events the run has with these
  p_kind "char"[],       -- h hold, s suspend, r release, e end, u end unless messages wait, c continue, p park,
                         -- q park unless messages wait
  p_status text[],       -- null: unchanged
  p_available bigint[],  -- for a suspension, when it is due; for an end, the time of this flush's last event
  p_waiting text[],      -- each a literal of a text array
  p_output bytea[], p_error bytea[], p_compensation text[], p_continued_as uuid[],
  p_clear_deadline boolean[],
  p_code text[],         -- the code that parks it, if other code may be able to continue it; paused: a person does
  -- The last event of a run that ends with it, which stays in its row; its time is p_available.
  p_tail_type smallint[], p_tail_op text[], p_tail_payload bytea[], p_tail_meta bytea[],
  e_i int[], e_seq int[], e_type smallint[], e_op text[], e_at bigint[], e_payload bytea[], e_meta bytea[],
  a_i int[], a_attributes text[],
  n_i int[], n_run uuid[], n_queue text[], n_workflow text[], n_version text[], n_priority int[], n_seed text[],
  n_input bytea[], n_attributes text[], n_start_at bigint[], n_delay bigint[], n_timeout bigint[], n_key text[],
  c_i int[], c_kind text[], c_name text[], c_message text[], c_payload bytea[],
  -- Tasks to create; for those without a limit or a holder, the last arrays may be empty.
  t_i int[], t_seq int[], t_input_seq int[], t_op text[], t_name text[], t_queue text[], t_requires text[], t_priority int[],
  t_external boolean[], t_fail_on_crash boolean[], t_secret uuid[], t_timeout bigint[], t_start_timeout bigint[],
  t_total_timeout bigint[], t_heartbeat bigint[], t_hold_by uuid[], t_claim uuid[], t_key text[],
  s_i int[], s_seq int[],  -- tasks that are settled
  d_i int[],             -- runs whose tasks are dropped
  r_i int[], r_number int[],  -- results among the consumed messages
  -- Null if there are none: children that are given up, and answers to updates.
  x_i int[], x_run uuid[],
  u_i int[], u_number int[], u_seq int[], u_error bytea[],
  l_i int[], l_seq int[], l_op text[], l_name text[], l_places int[],  -- requests for locks; null if there are none
  b_i int[], b_seq int[],  -- those that are given back; null if there are none
  k_i int[], k_type smallint, k_meta bytea[],  -- runs that are parked, and what is recorded of that; null if there are none
  p_notify boolean,
  out o_outcome text,    -- per run: w written, l lost, b busy, n nothing written because messages wait
  out o_held text,       -- per run: t or f
  out o_delivered text,  -- per run, separated by commas
  out o_now bigint, out o_hints text,
  out m_run uuid[], out m_number int[], out m_kind text[], out m_name text[], out m_id text[], out m_payload bytea[],
  out m_at bigint[],
  out o_tasks_held int[],  -- the tasks, by position, that are held as asked since this flush
  out o_owes int[],      -- the runs, by position, that owe something
  out o_debts text)      -- their only debts, if those are results for their parents alone; otherwise nothing
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set lock_timeout = '3ms' as $$
declare
  v_worker uuid[];       -- the workers that belong to their namespace; the nil UUID for the others, because null would match
                         -- a run that no worker holds. A worker holds runs of its own namespace only (claims and starts
                         -- ensure that), so this is checked once and not for each run
  v_ok boolean[];        -- the rows that could be locked; null: all of them, or the call fails
  v_i int[]; v_outcome "char"[]; v_held boolean[]; v_delivered int[];
  v_no bigint[];         -- passed the fence in this call (not a repeat): events and the rest are written
  v_moved boolean[];     -- and its transition was applied
  v_ended uuid[]; v_homes text[];  -- and it was an end; their namespaces
  v_sole boolean[];      -- and it was the end of a child that has to do with its parent alone: it owes one result
  v_children int[]; v_debts bigint[];  -- those, and the numbers of what they owe
  v_tied int[];          -- passed, and is awaited or owes something, but for v_sole
  v_awaited uuid[];      -- and ended, and is awaited
  v_heirs int[];
  v_parents uuid[];      -- and they ended or continued, and have children
  v_lanes int[]; v_task_lanes int[]; v_lines text[] := '{}'; v_some uuid[]; v_again boolean := false;
begin
  -- No row is waited for. What is left passes quickly: the end of a file that grows, a lane that is being made.
  if p_skip then perform set_config('lock_timeout', '800ms', true); end if;
  v_worker := array(
    select coalesce(w.worker_id, '00000000-0000-0000-0000-000000000000')
      from unnest(w_worker, w_namespace) with ordinality as a(worker_id, namespace, k)
      left join workers w on w.worker_id = a.worker_id and w.namespace = a.namespace order by a.k);
  if cardinality(n_i) > 0 then
    v_lanes := (select (lanes_of(array_agg(s.namespace order by n.k), n_queue, n_workflow, n_version, n_priority)).o_lanes
                  from unnest(n_i) with ordinality as n(i, k)
                  left join run_starts s on s.run_id = p_run[n.i] and s.namespace = w_namespace[p_by[n.i]]);
  end if;
  if cardinality(t_i) > 0 then
    v_task_lanes := task_lanes_of(array(select w_namespace[p_by[t.i]] from unnest(t_i) with ordinality as t(i, k) order by t.k),
                                  t_queue, t_name, t_requires, t_priority);
  end if;
  if p_skip then
    v_i := array(select a.i from unnest(p_run) with ordinality as a(run_id, i) join runs r on r.run_id = a.run_id
                    for no key update of r skip locked);
    v_ok := array(select k.i = any (v_i) from generate_subscripts(p_run, 1) k(i) order by k.i);
    if cardinality(s_i) > 0 or cardinality(d_i) > 0 then v_ok := unless_tasks_locked(v_ok, p_run, s_i, s_seq, d_i); end if;
    v_ok := unless_children_start(v_ok, p_run, p_kind, x_i, x_run);
  end if;
  o_now := now_ms();

  -- 1. The fence: one update, which checks the newest version of each row, even if that is newer than the snapshot.
  --    Rows are almost never locked, so locking them first would only add cost (54 bytes of WAL each).
  with updated as (
    update runs r set
      commit_no    = r.commit_no + 1,
      -- Appends have added to what the row knows of; then the event before the first of these must be there. -1: it is not.
      -- One that parks without events may follow a commit that was refused, of which an earlier copy took effect (storeCounts).
      event_count  = case when j.kind in ('p', 'q') and j.events = 0
                          then greatest(r.event_count, (select e.seq from events e where e.run_no = r.run_no order by e.seq desc limit 1))
                          -- The key of "events" finds those that are there already, but not for an event that stays in the row.
                          when j.tail_type is not null
                           and (select 1 from events e where e.run_no = r.run_no and e.seq = j.count limit 1) is not null then -1
                          when j.count - j.events = r.event_count then j.count
                          when j.count - j.events > r.event_count
                           and (select 1 from events e where e.run_no = r.run_no and e.seq = j.count - j.events limit 1) is not null
                          then j.count else -1 end,
      consumed     = j.consumed,
      deaths       = case when j.events > 0 then 0 else r.deaths end,
      alone_deaths = case when j.events > 0 then 0 else r.alone_deaths end,
      suspect      = r.suspect and j.events = 0,
      alone        = r.alone and j.events = 0 and (j.kind = 'h' or j.stays and r.delivered > j.consumed),
      status       = case when j.stays and r.delivered > j.consumed then r.status else coalesce(j.status::run_status, r.status) end,
      held_by      = case when j.kind = 'h' or j.stays and r.delivered > j.consumed then r.held_by end,
      claim_id     = case when j.kind = 'h' or j.stays and r.delivered > j.consumed then r.claim_id end,
      deadline_at  = case when not j.clear_deadline then r.deadline_at end,
      available_at = case when j.kind = 'r' then o_now
                          when j.kind = 's' and r.delivered <= j.consumed and j.available_at is not null
                          -- A run that is due now stays due now, even past its deadline.
                          then case when j.available_at <= o_now then j.available_at
                                    else least(j.available_at, case when not j.clear_deadline then r.deadline_at end) end end,
      waiting_for  = case when j.kind = 's' and r.delivered <= j.consumed then j.waiting_for end,
      -- The clock may have been set back. The last event is looked up only if this flush has none.
      ended_at     = case when j.kind in ('e', 'u', 'c')
                          then greatest(o_now, r.created_at, r.started_at, coalesce(j.available_at,
                               case when j.count > 0 then (select e.at from events e
                                                            where e.run_no = r.run_no and e.seq = j.count) end)) end,
      output       = case when j.kind in ('e', 'u') then j.output end,
      error        = case when j.kind in ('e', 'u', 'p', 'q') then j.error end,
      compensation = case when j.kind in ('e', 'u') then j.compensation end,
      continued_as = j.continued_as,
      tail_type    = j.tail_type,
      tail_at      = case when j.tail_type is not null then j.available_at end,
      tail_op      = j.tail_op,
      tail_payload = j.tail_payload,
      tail_meta    = j.tail_meta,
      parked_by    = case when j.code is not null then with_parker(case when j.events = 0 then r.parked_by end, j.code)
                          when j.events = 0 and j.kind not in ('p', 'q') then r.parked_by end,
      -- Nearly always right, and then it needs no second update; if not, owe_ends takes it back.
      owes         = case when r.awaited and j.kind in ('e', 'u') then true else r.owes end
    from (select a.*, a.kind = 's' as stays
            from unnest(p_run, p_by, p_epoch, p_commit, p_consumed, p_events, p_count, p_kind, p_status, p_available, p_waiting,
                        p_output, p_error, p_compensation, p_continued_as, p_clear_deadline, p_code,
                        p_tail_type, p_tail_op, p_tail_payload, p_tail_meta) with ordinality
                 as a(run_id, by, epoch, commit_no, consumed, events, count, kind, status, available_at, waiting_for,
                      output, error, compensation, continued_as, clear_deadline, code,
                      tail_type, tail_op, tail_payload, tail_meta, i)) j
    -- Finds each row by its key. With "held_by =" the planner might use that index, which is full of runs that are no longer held.
    where r.run_id = j.run_id and r.epoch = j.epoch and r.commit_no = j.commit_no
      and r.held_by is not distinct from v_worker[j.by]
      and (j.kind not in ('u', 'q') or r.delivered <= j.consumed) and (v_ok is null or v_ok[j.i])
    returning j.i, r.run_no, r.delivered, j.kind, not (j.stays and r.delivered > j.consumed) as moved,
              r.event_count < 0 as gap, r.awaited or r.owes as tied,
              r.awaited and r.ended_at is not null and r.continued_as is null as told, r.has_children,
              coalesce(r.awaited and r.ended_at is not null and r.continued_as is null, false)
                and r.involved is null and r.has_children is null as sole
  )
  select array_agg(u.i), array_agg('w'::"char"), array_agg(u.kind = 'h' or not u.moved), array_agg(u.delivered),
         array_agg(u.run_no), array_agg(u.moved), array_agg(p_run[u.i]) filter (where u.gap),
         array_agg(p_run[u.i]) filter (where u.moved and u.kind in ('e', 'u')),
         array_agg(w_namespace[p_by[u.i]]) filter (where u.moved and u.kind in ('e', 'u')),
         array_agg(u.i) filter (where u.tied and not u.sole), array_agg(p_run[u.i]) filter (where u.told and not u.sole),
         array_agg(p_run[u.i]) filter (where u.moved and u.kind in ('e', 'u', 'c') and u.has_children),
         array_agg(u.sole), array_agg(u.i) filter (where u.sole)
    into v_i, v_outcome, v_held, v_delivered, v_no, v_moved, v_some, v_ended, v_homes, v_tied, v_awaited, v_parents, v_sole, v_children
    -- Sorted once, not once in each aggregate.
    from (select * from updated order by i) u;
  -- The fence rules out gaps, unless the caller counts wrongly.
  if v_some is not null then
    raise exception 'run %: its events do not follow those that it has', v_some[1] using errcode = 'HF001';
  end if;

  -- 2. The others: written before, locked by another transaction, behind its messages, or lost.
  if coalesce(cardinality(v_i), 0) < cardinality(p_run) then
    v_again := true;
    select array_agg(x.outcome order by x.i), array_agg(x.held order by x.i), array_agg(x.delivered order by x.i),
           array_agg(x.run_no order by x.i), array_agg(x.moved order by x.i), array_agg(x.sole order by x.i)
      into v_outcome, v_held, v_delivered, v_no, v_moved, v_sole
      from (select * from unnest(v_i, v_outcome, v_held, v_delivered, v_no, v_moved, v_sole)
              as t(i, outcome, held, delivered, run_no, moved, sole)
            union all
            select a.i, case when r.run_id is null or r.epoch <> a.epoch then 'l' when not v_ok[a.i] then 'b'
                             when k.again then 'w' when k.behind then 'n' else 'l' end::"char",
                   coalesce((k.again or k.behind) and r.held_by = v_worker[a.by], false),
                   case when k.again or k.behind then r.delivered else 0 end, null, false, false
              from unnest(p_run, p_by, p_epoch, p_commit, p_kind) with ordinality as a(run_id, by, epoch, commit_no, kind, i)
              left join (runs r join lanes l using (lane_id)) on r.run_id = a.run_id and l.namespace = w_namespace[a.by]
             cross join lateral (
               select r.epoch = a.epoch and r.commit_no = a.commit_no + 1 as again,
                      a.kind in ('u', 'q') and r.epoch = a.epoch and r.commit_no = a.commit_no and r.held_by = v_worker[a.by] as behind) k
             where v_i is null or a.i <> all (v_i)) x;
  end if;

  -- No row is waited for while they are inserted. What may be in the way, the end of a file that grows, passes quickly.
  if not p_skip then perform set_config('lock_timeout', '800ms', true); end if;
  -- 3. Events of the runs that passed. Subscripts instead of a join. (run, seq) is unique: history cannot fork.
  insert into events (run_no, seq, type, op, at, payload, meta)
  select v_no[e.i], e.seq, e.type, e.op, e.at, e.payload, e.meta
    from unnest(e_i, e_seq, e_type, e_op, e_at, e_payload, e_meta) as e(i, seq, type, op, at, payload, meta)
   where v_no[e.i] is not null;

  if not p_skip then perform set_config('lock_timeout', '3ms', true); end if;
  -- 4. What goes to others. Starts of children have the rows of their parents locked: there will be no more of them.
  if v_parents is not null then perform 1 from runs r where r.run_id = any (v_parents) for update; end if;
  if v_tied is not null and cardinality(n_i) > 0 then
    v_heirs := array(select t.i from unnest(v_tied) t(i)
                      where (select r.awaited and r.continued_as is not null from runs r where r.run_id = p_run[t.i]));
  end if;
  if x_i is not null then perform give_up_children(p_run, v_no, w_namespace, p_by, x_i, x_run, o_now); end if;
  if cardinality(v_ended) > 0 then
    v_lines := hint_lines('e', v_homes, v_ended);
  end if;
  if cardinality(a_i) > 0 then
    insert into run_attributes (run_id, attributes)
    select p_run[a.i], a.attributes::jsonb from unnest(a_i, a_attributes) as a(i, attributes) where v_no[a.i] is not null
    on conflict (run_id) do update set attributes = excluded.attributes;
  end if;
  if cardinality(n_i) > 0 then
    v_lines := v_lines || continue_runs(p_run, p_consumed, v_moved, o_now, n_i, n_run, v_lanes, n_seed, n_input, n_attributes, n_start_at,
        n_delay, n_timeout, n_key, c_i, c_kind, c_name, c_message, c_payload, v_heirs);
  end if;
  if v_children is not null then
    -- They are numbered in the order of the flush.
    with owed as (
      insert into debts (run_id, kind, at) select p_run[c.i], 'result', o_now from unnest(v_children) c(i) returning debt_no)
    select array_agg(o.debt_no order by o.debt_no) into v_debts from owed o;
  end if;
  if v_tied is not null or v_parents is not null then
    v_lines := v_lines || owe_ends(v_awaited, v_parents, o_now, true);
    if cardinality(n_i) > 0 then
      v_some := array(select p_run[t.i] from unnest(v_tied) t(i)
                       where (select r.awaited and r.continued_as is not null from runs r where r.run_id = p_run[t.i]));
      perform owe_replies(v_some, o_now);
      perform give_locks_back(v_some, o_now);
      v_lines := v_lines || hand_places_on(v_some);
    end if;
  end if;
  if u_i is not null then v_lines := v_lines || keep_replies(p_run, v_no, u_i, u_number, u_seq, u_error, o_now); end if;

  if l_i is not null or b_i is not null then
    perform change_locks(p_run, v_no, p_kind, w_namespace, p_by, l_i, l_seq, l_op, l_name, l_places, b_i, b_seq, o_now);
  end if;

  -- 5. Tasks: what goes comes first, so that it does not include what is created now.
  if cardinality(s_i) > 0 or cardinality(d_i) > 0 then
    v_lines := v_lines || settle_tasks(p_run, v_no, v_worker, p_by, s_i, s_seq, d_i);
  end if;
  if cardinality(r_i) > 0 then
    delete from inbox m using unnest(r_i, r_number) as r(i, number)
     where v_no[r.i] is not null and m.run_id = p_run[r.i] and m.number = r.number
       and is_result(m.kind);
  end if;
  if cardinality(t_i) > 0 then
    select v_lines || x.o_lines, x.o_held into v_lines, o_tasks_held
      from add_tasks(p_run, v_no, v_outcome, v_worker, w_namespace, p_by, o_now, t_i, t_seq, t_input_seq, t_op, v_task_lanes, t_external,
        t_fail_on_crash, t_secret, t_timeout, t_start_timeout, t_total_timeout, t_heartbeat, t_hold_by, t_claim, t_key) x;
  end if;

  -- 6. Hints for other processes and for the caller.
  if k_i is not null then
    perform append_note(p_run[k.i], k_type, k.meta, o_now) from unnest(k_i, k_meta) as k(i, meta) where v_no[k.i] is not null;
    select v_lines || hint_lines('e', array_agg(s.namespace), array_agg(s.run_id)) into v_lines
      from unnest(k_i) as k(i) join run_starts s on s.run_id = p_run[k.i] where v_no[k.i] is not null;
  end if;
  v_some := array(select p_run[t.i] from unnest(p_kind, p_available, v_moved) with ordinality as t(kind, at, moved, i)
                   where t.moved and (t.kind = 'r' or t.kind = 's' and t.at <= o_now));
  if cardinality(v_some) > 0 or cardinality(n_run) > 0 then
    v_lines := v_lines || due_lines(v_some || n_run, o_now);
  end if;
  o_hints := send_hints(v_lines, p_notify);
  v_some := array(select p_run[t.i] from unnest(p_kind, v_held) with ordinality as t(kind, held, i)
                   where t.held and t.kind <> 'h');
  if cardinality(v_some) > 0 then
    select array_agg(m.run_id), array_agg(m.number), array_agg(m.kind), array_agg(m.name), array_agg(m.message_id),
           array_agg(m.payload), array_agg(m.at)
      into m_run, m_number, m_kind, m_name, m_id, m_payload, m_at
      from (select m.* from unnest(p_run, p_consumed) with ordinality as a(run_id, consumed, i)
              join inbox m on m.run_id = a.run_id and m.number > a.consumed
             where a.run_id = any (v_some) order by a.i, m.number) m;
  end if;
  if v_tied is not null or v_parents is not null or x_i is not null or b_i is not null or v_again then
    -- Without watchers, a result is for the parent.
    select array_agg(a.i), string_agg(coalesce(case
             when not d.others and (select 1 from watches w where w.chain_id =
                     (select coalesce(s.chain_id, s.run_id) from run_starts s where s.run_id = a.run_id) limit 1) is null then d.result end::text, ''), ',')
      into o_owes, o_debts
      from unnest(p_run, v_outcome, v_sole) with ordinality as a(run_id, outcome, sole, i)
     cross join lateral (select max(x.debt_no) filter (where x.kind = 'result') as result, bool_or(x.kind <> 'result') as others
                           from debts x where x.run_id = a.run_id) d
     where a.outcome = 'w' and not a.sole and (select r.owes from runs r where r.run_id = a.run_id);
  end if;
  if v_children is not null then
    o_owes := v_children || o_owes;
    o_debts := concat_ws(',', array_to_string(v_debts, ','), o_debts);
  end if;
  o_outcome := array_to_string(v_outcome, '');
  o_held := array_to_string(v_held, '');
  o_delivered := array_to_string(v_delivered, ',');
end $$;

-- Continue as new. The successor's inbox holds the carried messages, then copies of the unconsumed ones. Results are for the
-- very run whose op waits for them. What the run comes from, and who watches it, goes on; its children do not.
create function continue_runs(
  p_run uuid[], p_consumed int[], v_moved boolean[], p_now bigint,
  n_i int[], n_run uuid[], n_lane int[], n_seed text[], n_input bytea[], n_attributes text[],
  n_start_at bigint[], n_delay bigint[], n_timeout bigint[], n_key text[],
  c_i int[], c_kind text[], c_name text[], c_message text[], c_payload bytea[],
  v_heirs int[])         -- those that somebody may wait for
returns text[] language plpgsql volatile as $$
begin
  with born as (
    insert into run_starts (run_id, chain_id, namespace, id, nth, created_at, lane_id, continued_from, timeout_ms, seed, input,
                            parent_namespace, parent_run_id, parent_id, parent_op, root_run_id, root_id, depth, key)
    select n.run_id, coalesce(s.chain_id, s.run_id), s.namespace, s.id, s.nth + 1, greatest(p_now, s.created_at + 1), n.lane_id, s.run_id, n.timeout,
           nullif(n.seed, n.run_id::text), n.input, s.parent_namespace, s.parent_run_id, s.parent_id, s.parent_op, s.root_run_id, s.root_id, s.depth, n.key
      from unnest(n_i, n_run, n_lane, n_timeout, n_seed, n_input, n_key) as n(i, run_id, lane_id, timeout, seed, input, key)
      join run_starts s on s.run_id = p_run[n.i] where v_moved[n.i]
    returning *
  )
  insert into children (parent_run_id, run_id, created_at, namespace, id, policy, closed)
  select b.parent_run_id, b.run_id, b.created_at, b.namespace, b.id, 'abandon', true from born b
   where b.parent_run_id is not null
     and (select 1 from children c where c.parent_run_id = b.parent_run_id and c.run_id = b.chain_id limit 1) is not null;
  with handed as materialized (
    select n.run_id, s.chain_id, row_number() over (partition by n.run_id order by m.part, m.number)::int as number,
           m.kind, m.name, m.message_id, m.payload, m.reply_to
    from unnest(n_i, n_run) as n(i, run_id)
    join run_starts s on s.run_id = n.run_id
   cross join lateral (
      select 0 as part, c.number::int as number, c.kind, c.name, c.message_id, c.payload, null as reply_to
        from unnest(c_i, c_kind, c_name, c_message, c_payload) with ordinality
             as c(i, kind, name, message_id, payload, number) where c.i = n.i
      union all
      select 1, x.number, x.kind, x.name, x.message_id, x.payload,
             case when x.kind = 'update' then (select p.reply_to from replies p where p.run_id = x.run_id and p.number = x.number) end
        from inbox x where x.run_id = p_run[n.i] and x.number > p_consumed[n.i] and not is_result(x.kind)) m
   where v_moved[n.i]
  ), copied as (
    insert into inbox (run_id, chain_id, number, kind, name, message_id, payload, at)
    select h.run_id, h.chain_id, h.number, h.kind, h.name, h.message_id, h.payload, p_now from handed h
  )
  insert into replies (run_id, number, reply_to) select h.run_id, h.number, h.reply_to from handed h where h.reply_to is not null;
  insert into runs (run_id, lane_id, status, epoch, available_at, created_at, deadline_at, delivered, awaited, involved)
  select n.run_id, n.lane_id, 'pending', 0,
         least(greatest(coalesce(n.start_at, p_now), p_now + coalesce(n.delay, 0)), s.created_at + n.timeout),
         s.created_at, s.created_at + n.timeout, (select count(*) from inbox x where x.run_id = n.run_id),
         case when n.i = any (v_heirs) then true end, case when n.i = any (v_heirs) then true end
    from unnest(n_i, n_run, n_lane, n_start_at, n_delay, n_timeout) as n(i, run_id, lane_id, start_at, delay, timeout)
    join run_starts s on s.run_id = n.run_id where v_moved[n.i];
  insert into run_attributes (run_id, attributes)
  select n.run_id, n.attributes::jsonb from unnest(n_i, n_run, n_attributes) as n(i, run_id, attributes)
   where v_moved[n.i] and n.attributes is not null;
  return (select hint_lines('e', array_agg(s.namespace), array_agg(s.continued_from))
            from unnest(n_run) as n(run_id) join run_starts s using (run_id));
end $$;

-- The end time of a run that is ended from outside: not before its start or its last event. The clock may have been set back.
create function end_time(r runs, p_now bigint) returns bigint language sql stable as $$
  select greatest(p_now, r.created_at, r.started_at,
                  (select e.at from events e where e.run_no = r.run_no order by e.seq desc limit 1))
$$;
`;
