export const RETENTION = String.raw`
-- How long runs are kept once they have ended: for each status that is in it, in milliseconds.
create table retention (namespace text collate "C" primary key, rules jsonb not null);

-- Counts purges, for starts that are on their way meanwhile.
create sequence purges;

create function set_retention(p_namespace text, p_rules text, p_notify boolean, out o_hints text)
language plpgsql volatile security definer set search_path from current as $$
begin
  if p_rules is null then
    delete from retention t where t.namespace = p_namespace;
  else
    insert into retention (namespace, rules) values (p_namespace, p_rules::jsonb)
    on conflict (namespace) do update set rules = excluded.rules;
  end if;
  o_hints := send_hints(array['o'], p_notify);
end $$;

-- Deletes closed runs that ended before a given time, the oldest first, with everything that belongs to them: all behind a position,
-- or some of those that are named. Those that owe something stay.
create function purge_runs(
  p_namespace text, p_ended_before bigint, p_statuses text[], p_runs uuid[], p_limit int,
  p_spares boolean,      -- runs that are the last ones of their schedules stay
  p_after_end bigint, p_after_run uuid,
  out o_purged int, out o_more boolean, out o_last_end bigint, out o_last_run uuid)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_statuses run_status[] := p_statuses::run_status[];
  v_ids uuid[]; v_ends bigint[]; v_no bigint[]; v_chains uuid[]; v_kept uuid[];
  v_namespace text[]; v_id text[]; v_chain uuid[];   -- of runs that may share a chain with other runs
  v_child uuid[]; v_parent uuid[]; v_first uuid[];   -- of runs that another run has started
  v_fork uuid[]; v_origin uuid[]; v_forked_at bigint[]; v_run uuid[]; v_seq int[];
begin
  -- Purges take turns: if two deleted the last two runs of a chain at once, each would leave the message ids to the other.
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.purge_runs', 0));
  -- 1. The oldest of each lane and status, merged. One more than the limit, to know whether more are left.
  if p_runs is null then
    select array_agg(k.run_id order by k.ended_at, k.run_id), array_agg(k.ended_at order by k.ended_at, k.run_id) into v_ids, v_ends from (
      select o.run_id, o.ended_at
        from lanes l cross join unnest(v_statuses) as s(status)
       cross join lateral (select r.run_id, r.ended_at from runs r
                            where r.lane_id = l.lane_id and r.status = s.status and r.ended_at < p_ended_before
                              and r.ended_at >= p_after_end and (r.ended_at, r.run_id) > (p_after_end, p_after_run) and r.owes is null
                            order by r.ended_at, r.run_id limit p_limit + 1) o
       where l.namespace = p_namespace order by o.ended_at, o.run_id limit p_limit + 1) k;
  else
    select array_agg(k.run_id order by k.ended_at, k.run_id), array_agg(k.ended_at order by k.ended_at, k.run_id) into v_ids, v_ends from (
      select r.run_id, r.ended_at from runs r join lanes l using (lane_id)
       where r.run_id = any (p_runs) and l.namespace = p_namespace and r.ended_at < p_ended_before
         and r.status = any (v_statuses) and (r.ended_at, r.run_id) > (p_after_end, p_after_run) and r.owes is null
       order by r.ended_at, r.run_id limit p_limit + 1) k;
  end if;
  o_more := coalesce(cardinality(v_ids) > p_limit, false);
  v_ids := v_ids[1:p_limit];
  o_last_run := v_ids[cardinality(v_ids)];
  o_last_end := v_ends[cardinality(v_ids)];
  if p_spares then
    -- A run that has continued is never the last one of its id.
    v_ids := array(
      select r.run_id from runs r join run_starts s using (run_id)
       where r.run_id = any (v_ids) and (r.status = 'continued' or strpos(translate(s.id, '!', '@'), '@') = 0 or not exists (
         select 1 from schedules k where k.namespace = s.namespace and k.id = regexp_replace(s.id, '[@!][^@!]*$', '') and k.open_id = s.id)));
  end if;
  -- 2. Lock them, and judge the newest version of each: one may have been reopened.
  select coalesce(array_agg(k.run_id), '{}'), array_agg(k.run_no) into v_ids, v_no
    from (select r.run_id, r.run_no from runs r
           where r.run_id = any (v_ids) and r.ended_at < p_ended_before and r.status = any (v_statuses)
             and r.owes is null
             for update skip locked) k;
  o_purged := cardinality(v_ids);
  if o_purged = 0 then return; end if;
  perform nextval('purges');
  -- 3. The runs and their events.
  with gone as (
    delete from runs r where r.run_id = any (v_ids) returning r.run_id, r.continued_as
  ), begun as (
    delete from run_starts s using gone g where s.run_id = g.run_id
    returning s.namespace, s.id, coalesce(s.chain_id, s.run_id) as chain_id, s.chain_id is not null or g.continued_as is not null as linked, s.run_id, s.parent_run_id,
              s.forked_from, s.created_at)
  select array_agg(b.chain_id), array_agg(b.namespace) filter (where b.linked), array_agg(b.id) filter (where b.linked),
         array_agg(b.chain_id) filter (where b.linked), array_agg(b.run_id) filter (where b.parent_run_id is not null),
         array_agg(b.parent_run_id) filter (where b.parent_run_id is not null),
         array_agg(b.chain_id) filter (where b.parent_run_id is not null),
         array_agg(b.run_id) filter (where b.forked_from is not null), array_agg(b.forked_from) filter (where b.forked_from is not null),
         array_agg(b.created_at) filter (where b.forked_from is not null)
    into v_chains, v_namespace, v_id, v_chain, v_child, v_parent, v_first, v_fork, v_origin, v_forked_at from begun b;
  delete from run_attributes a where a.run_id = any (v_ids);
  delete from events e where e.run_no = any (v_no);
  delete from segments s where s.run_no = any (v_no);
  -- Most are dead letters. One that is still held has lost its run.
  with gone as (delete from tasks t where t.run_id = any (v_ids) returning t.run_id, t.seq, t.standing)
  select array_agg(g.run_id), array_agg(g.seq) into v_run, v_seq from gone g where g.standing > 0;
  if v_run is not null then perform give_places_back(v_run, v_seq); end if;
  delete from debounces d where d.run_id = any (v_ids);
  -- 4. Their messages. If the chain still has a run, the message ids stay, under a run id that no run has.
  v_kept := array(
    select c.chain_id from unnest(v_namespace, v_id, v_chain) as c(namespace, id, chain_id)
     where (select 1 from run_starts x
             where x.namespace = c.namespace and x.id = c.id and coalesce(x.chain_id, x.run_id) = c.chain_id limit 1) is not null);
  if cardinality(v_kept) > 0 then
    update inbox m set run_id = gen_random_uuid(), name = '', payload = ''
     where m.run_id = any (v_ids) and m.chain_id = any (v_kept) and not is_result(m.kind);
    -- Results of tasks: nobody sends them twice.
    delete from inbox m where m.run_id = any (v_ids) and m.chain_id = any (v_kept);
  end if;
  v_chains := array(select c from unnest(v_chains) c where c <> all (v_kept));
  delete from inbox m where m.chain_id = any (v_chains);
  delete from inbox m where m.run_id = any (v_ids) and m.chain_id is null;
  delete from replies p where p.run_id = any (v_ids);
  -- 5. What they have to do with others.
  delete from children c where c.parent_run_id = any (v_ids);
  delete from watches w where w.chain_id = any (v_chains);
  if v_fork is not null then
    delete from forks f using unnest(v_origin, v_forked_at, v_fork) as k(origin_run_id, created_at, run_id)
     where f.origin_run_id = k.origin_run_id and f.created_at = k.created_at and f.run_id = k.run_id;
  end if;
  if v_child is not null then
    -- The first run of a chain that goes on stays known to its parent.
    update children c set created_at = null from unnest(v_child, v_parent, v_first) as k(run_id, parent_run_id, chain_id)
     where c.parent_run_id = k.parent_run_id and c.run_id = k.run_id and k.run_id = k.chain_id and k.chain_id = any (v_kept);
    delete from children c using unnest(v_child, v_parent, v_first) as k(run_id, parent_run_id, chain_id)
     where c.parent_run_id = k.parent_run_id
       and (c.run_id = k.run_id and k.run_id <> k.chain_id or c.run_id = k.chain_id and k.chain_id <> all (v_kept));
  end if;
end $$;
`;
