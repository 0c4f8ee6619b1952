-- Takes due runs. One probe per lane finds what is due first and next; only lanes with something due are read further.
create function claim_runs(
  p_worker uuid, p_claim uuid, p_again boolean, p_namespace text, p_queues text[],
  p_workflows text[], p_versions text[], p_limit int, p_solo boolean)
returns table (live boolean, now bigint, next_due_at bigint, suspect_due boolean, run run_rows,
  m_number int[], m_kind text[], m_name text[], m_id text[], m_payload bytea[], m_at bigint[])
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_now bigint; v_live boolean; v_ids uuid[] := '{}'; v_got uuid[]; v_next bigint; v_suspect boolean := false; l record;
  v_lanes int[] := '{}'; v_limit int := case when p_solo then least(p_limit, 1) else p_limit end;
begin
  -- KEY SHARE lets heartbeats (NO KEY UPDATE) pass and keeps the sweep (FOR UPDATE) out until this claim is over.
  -- A repeat takes FOR UPDATE instead: it waits for the first try, should that still be at work.
  if p_again then
    select w.status <> 'offline' into v_live from workers w where w.worker_id = p_worker for update;
  else
    select w.status <> 'offline' into v_live from workers w where w.worker_id = p_worker for key share;
  end if;
  v_live := coalesce(v_live, false);
  v_now := now_ms();
  if v_live and p_again then
    v_ids := array(select r.run_id from runs r where r.held_by = p_worker and r.claim_id = p_claim order by r.run_id);
  end if;
  if v_live and cardinality(v_ids) = 0 then
    for l in
      select n.lane_id, d.due,
             case when not p_solo then exists (select 1 from runs r where r.lane_id = n.lane_id and r.suspect
                    and r.available_at <= v_now) end as suspect_due,
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
       order by n.priority desc, d.due
    loop
      v_suspect := v_suspect or coalesce(l.suspect_due, false);
      v_next := least(v_next, l.next_due_at);
      continue when l.due is null;
      v_lanes := v_lanes || l.lane_id;
      continue when cardinality(v_ids) >= v_limit;
      v_got := array(
        select r.run_id from runs r
         where r.lane_id = l.lane_id and r.suspect = p_solo and r.available_at <= v_now
         order by r.available_at limit v_limit - cardinality(v_ids)
           for no key update skip locked);
      v_ids := v_ids || v_got;
    end loop;
    if cardinality(v_ids) > 0 then
      update runs r set epoch = r.epoch + 1, held_by = p_worker, claim_id = p_claim, available_at = null, alone = p_solo,
          waiting_for = null, started_at = coalesce(r.started_at, v_now),
          status = case when r.status = 'compensating' then r.status else 'running' end
       where r.run_id = any (v_ids);
    end if;
    -- Left because of the limit or of strangers' locks: there is more to take now.
    if exists (select 1 from unnest(v_lanes) n(lane_id) cross join lateral (
                 select 1 from runs r where r.lane_id = n.lane_id and r.suspect = p_solo and r.available_at <= v_now
                  order by r.available_at limit 1) x) then
      v_next := v_now;
    end if;
  end if;
  return query
    select v_live, v_now, v_next, v_suspect, v, m.*
      from (select) one
      left join unnest(v_ids) with ordinality as t(run_id, i) on true
      left join run_rows v on v.run_id = t.run_id
      left join lateral (
        select array_agg(x.number order by x.number), array_agg(x.kind order by x.number),
               array_agg(x.name order by x.number), array_agg(x.message_id order by x.number),
               array_agg(x.payload order by x.number), array_agg(x.at order by x.number)
          from inbox x where v.delivered > v.consumed and x.run_id = v.run_id and x.number > v.consumed) m on true
     order by t.i;
end $$;
