import { LINEAGE } from "./10-tables.ts";

export const CLAIM = String.raw`
-- Claims due runs. One probe per lane finds what is due first and next; only lanes with something due are read further.
-- The last row of the answer holds the overall state and the lanes; the others are the runs, without what the caller already
-- knows (the worker, the claim, that the run waits for nothing and has not ended). A run with several messages has a row for
-- each; its input is in the first.
create function claim_runs(
  p_worker uuid, p_claim uuid, p_again boolean, p_namespace text, p_queues text[],
  p_workflows text[], p_versions text[], p_limit int, p_solo boolean)
returns table (live boolean, now bigint, more_due boolean, next_due_at bigint, suspect_due boolean,
  lanes json,
  run_id uuid, chain_id uuid, continued_from uuid, id text, seed text, lane_id int,
  status run_status, epoch int, commit_no int, event_count int, delivered int, consumed int, deaths smallint,
  alone_deaths smallint, suspect boolean, created_at bigint, started_at bigint, deadline_at bigint, timeout_ms bigint,
  attributes jsonb, compensation text, input bytea, error bytea, lineage json, key text,
  m_number int, m_kind text, m_name text, m_id text, m_payload bytea, m_at bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now bigint; v_live boolean; v_next bigint; v_suspect boolean := false; l record; v_lanes int[] := '{}';
  v_left int[] := '{}';  -- lanes of which it counts that something due is left
  v_limit int := case when p_solo then least(p_limit, 1) else p_limit end;
  v_ids uuid[] := '{}';  -- in the order in which to execute them
  v_rows tid[] := '{}';  -- physical positions of the rows to claim; empty for a repeat, which claimed them before
  v_got uuid[]; v_at tid[]; v_limited int; t record;
  v_side int := case when right(p_claim::text, 1) < '8' then -1 else 1 end;
begin
  -- KEY SHARE lets heartbeats (NO KEY UPDATE) pass and blocks the sweep (FOR UPDATE) until this claim commits.
  -- A repeat takes FOR UPDATE instead, to wait for the first call if that is still in flight.
  if p_again then
    select w.status <> 'offline' into v_live from workers w
     where w.worker_id = p_worker and w.namespace = p_namespace for update;
  else
    select w.status <> 'offline' into v_live from workers w
     where w.worker_id = p_worker and w.namespace = p_namespace for key share;
  end if;
  v_live := coalesce(v_live, false);
  v_now := now_ms();
  if v_live and p_again then
    select coalesce(array_agg(r.run_id order by r.run_id), '{}'), coalesce(array_agg(distinct r.lane_id), '{}') into v_ids, v_lanes
      from runs r where r.held_by = p_worker and r.claim_id = p_claim;
  end if;
  if v_live and cardinality(v_ids) = 0 then
    for l in
      select n.lane_id, n.limited_id, d.due,
             case when not p_solo then (select true from runs r where r.lane_id = n.lane_id and r.suspect
                    and r.available_at <= v_now limit 1) end as suspect_due,
             least((select r.available_at from runs r where r.lane_id = n.lane_id and not r.suspect
                       and r.available_at > v_now order by r.available_at limit 1),
                   (select r.available_at from runs r where r.lane_id = n.lane_id and r.suspect
                       and r.available_at > v_now order by r.available_at limit 1)) as next_due_at
        from lanes n
        left join lateral (select r.available_at as due from runs r where r.lane_id = n.lane_id and r.suspect = p_solo
                            and r.available_at <= v_now order by r.available_at limit 1) d on true
       where n.namespace = p_namespace and n.queue = any (p_queues)
         and exists (select 1 from unnest(p_workflows, p_versions) as h(workflow, version)
                      where h.workflow = n.workflow and h.version = n.version)
       -- Half of the claims look at queues with limits first, so that neither starves the other.
       order by case when n.limited_id is null then 0 else v_side end, case when n.limited_id is not null then n.queue end,
                n.priority desc, d.due
    loop
      v_suspect := v_suspect or coalesce(l.suspect_due, false);
      v_next := least(v_next, l.next_due_at);
      -- A suspect has begun: it has a place.
      if l.limited_id is not null and not p_solo then
        if l.due is not null then v_lanes := v_lanes || l.lane_id; end if;
        continue when l.limited_id = v_limited;
        v_limited := l.limited_id;
        select * into t from take_limited_runs(l.limited_id, p_workflows, p_versions, v_limit - cardinality(v_ids), v_now);
        v_ids := v_ids || t.o_run; v_rows := v_rows || t.o_rows; v_lanes := v_lanes || t.o_lanes; v_left := v_left || t.o_left;
        v_next := least(v_next, t.o_next);
        continue;
      end if;
      continue when l.due is null;
      v_lanes := v_lanes || l.lane_id; v_left := v_left || l.lane_id;
      continue when cardinality(v_ids) >= v_limit;
      select array_agg(d.run_id), array_agg(d.place) into v_got, v_at
        from (select r.run_id, r.ctid as place from runs r
               where r.lane_id = l.lane_id and r.suspect = p_solo and r.available_at <= v_now
               order by r.available_at limit v_limit - cardinality(v_ids)
                 for no key update skip locked) d;
      v_ids := v_ids || v_got;
      v_rows := v_rows || v_at;
    end loop;
  end if;
  return query
    -- By physical position: a locked row does not move, so no second index lookup is needed.
    with taken as (
      update runs r set epoch = r.epoch + 1, held_by = p_worker, claim_id = p_claim, available_at = null, alone = p_solo,
          waiting_for = null, started_at = coalesce(r.started_at, greatest(v_now, r.created_at)),
          status = case when r.status = 'compensating' then r.status else 'running' end
       where r.ctid = any (v_rows) returning r.*
    ), ours as materialized (
      select t.* from taken t
      union all
      select r.* from runs r
       where cardinality(v_rows) = 0 and r.run_id = any (v_ids) and r.held_by = p_worker and r.claim_id = p_claim
    )
    select null::boolean, null::bigint, null::boolean, null::bigint, null::boolean, null::json,
           o.run_id, s.chain_id, s.continued_from, s.id, s.seed, o.lane_id,
           o.status, o.epoch, o.commit_no,
           -- A run that was claimed before may have recorded something since.
           case when cardinality(v_rows) > 0 then o.event_count else greatest(o.event_count,
             (select e.seq from events e where e.run_no = o.run_no order by e.seq desc limit 1)) end, o.delivered, o.consumed, o.deaths, o.alone_deaths, o.suspect,
           o.created_at, o.started_at, o.deadline_at, s.timeout_ms, a.attributes, o.compensation,
           case when coalesce(m.number = o.consumed + 1, true) then s.input end, o.error,
           ${LINEAGE}, s.key,
           m.number, m.kind, m.name, m.message_id, m.payload, m.at
      from unnest(v_ids) with ordinality as t(run_id, i)
      join ours o using (run_id)
      join run_starts s using (run_id)
      left join run_attributes a using (run_id)
      left join lateral (select x.* from inbox x
                          where x.run_id = case when o.delivered > o.consumed then o.run_id end and x.number > o.consumed
                          order by x.number) m on true
     order by t.i, m.number;
  -- Left over because of the limit, or because other transactions have them locked.
  more_due := exists (select 1 from unnest(v_left) n(lane_id) cross join lateral (
               select 1 from runs r where r.lane_id = n.lane_id and r.suspect = p_solo and r.available_at <= v_now
                order by r.available_at limit 1) x);
  select json_object_agg(n.lane_id, n) into lanes from lanes n where n.lane_id = any (v_lanes);
  live := v_live; now := v_now; next_due_at := v_next; suspect_due := v_suspect;
  return next;
end $$;

-- Takes up runs that other code has parked; claim_runs with p_again then returns them to the worker. If the worker's own code
-- was the last to park a run, the list begins with its identity and the run is not even read; identities are hexadecimal
-- digits, so "g" sorts after all of them. The status is compared as text, so that no plan uses the index of all parked runs.
create function hold_parked(
  p_worker uuid, p_claim uuid, p_namespace text, p_queues text[], p_workflows text[], p_versions text[], p_codes text[],
  p_limit int, p_type smallint, p_meta bytea, out o_live boolean, out o_taken int, out o_more boolean)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare v_ids uuid[] := '{}'; l record;
begin
  select w.status <> 'offline' into o_live from workers w
   where w.worker_id = p_worker and w.namespace = p_namespace for key share;
  o_live := coalesce(o_live, false);
  if o_live then
    for l in
      select n.lane_id, h.code from unnest(p_workflows, p_versions, p_codes) as h(workflow, version, code)
        join lanes n on n.namespace = p_namespace and n.queue = any (p_queues) and n.workflow = h.workflow
         and n.version = h.version
       order by n.priority desc
    loop
      v_ids := v_ids || array(
        select r.run_id from (values ('', l.code), (l.code || 'g', 'g')) as b(low, high)
          join runs r on r.lane_id = l.lane_id and r.parked_by >= b.low and r.parked_by < b.high
         where r.parked_by is not null and r.ended_at is null and r.status::text = 'parked' and not r.suspect
           and strpos(r.parked_by, l.code) = 0
         limit p_limit - cardinality(v_ids) for no key update of r skip locked);
      exit when cardinality(v_ids) >= p_limit;
    end loop;
  end if;
  update runs r set epoch = r.epoch + 1, held_by = p_worker, claim_id = p_claim, alone = false, waiting_for = null,
      status = 'running', error = null, started_at = coalesce(r.started_at, now_ms())
   where r.run_id = any (v_ids);
  perform append_note(t.run_id, p_type, p_meta, now_ms()) from unnest(v_ids) as t(run_id);
  o_taken := cardinality(v_ids);
  o_more := o_taken >= p_limit;
end $$;
`;
