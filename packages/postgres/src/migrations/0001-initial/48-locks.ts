export const LOCKS = String.raw`
-- The runs have ended: they give all their locks back, and whoever is next is owed it. The rows of the runs are locked.
create function give_locks_back(p_run uuid[], p_now bigint) returns void
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_run uuid[];
begin
  with given as (
    update locks l set given_back = true where l.run_id = any (p_run) and not l.given_back returning l.run_id
  )
  select array_agg(distinct g.run_id) into v_run from given g;
  if v_run is not null then perform owe(v_run, 'lock', p_now); end if;
end $$;

-- What a flush gives back, and then what it requests. A run that ends requests nothing.
create function change_locks(
  p_run uuid[], v_no bigint[], p_kind "char"[], w_namespace text[], p_by int[],
  l_i int[], l_seq int[], l_op text[], l_name text[], l_places int[], b_i int[], b_seq int[], p_now bigint)
returns void language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off as $$
declare v_run uuid[];
begin
  with given as (
    update locks l set given_back = true from unnest(b_i, b_seq) as b(i, seq)
     where v_no[b.i] is not null and l.run_id = p_run[b.i] and l.seq = b.seq and not l.given_back
    returning l.run_id
  )
  select array_agg(distinct g.run_id) into v_run from given g;
  if v_run is not null then perform owe(v_run, 'lock', p_now); end if;
  insert into locks (run_id, seq, places, namespace, name, op)
  select p_run[k.i], k.seq, k.places, w_namespace[p_by[k.i]], k.name, k.op
    from unnest(l_i, l_seq, l_places, l_name, l_op) with ordinality as k(i, seq, places, name, op, n)
   where v_no[k.i] is not null and p_kind[k.i] not in ('e', 'u', 'c') order by k.n;
  update runs r set awaited = true, involved = true
   where r.involved is null and r.run_id = any (array(select p_run[k.i] from unnest(l_i) k(i) where v_no[k.i] is not null));
end $$;

-- Passes locks on, one name after the other: whoever has locked a name decides who is next. The order of the names is the same for
-- everybody, and nothing else is waited for: a request whose run another transaction has locked, and all behind it, have to wait.
create function pass_locks(
  a_namespace text[], a_run uuid[], a_seq int[], a_epoch int[],  -- who asks
  b_namespace text[], b_run uuid[],  -- who has given locks back
  p_notify boolean,
  out o_outcome text,    -- per ask: g granted, w waiting, x gone, b busy
  out o_fence bigint[], out o_passed boolean[], out o_hints text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
declare
  v_name record; v_lock record; v_run record; v_free int; v_fence bigint; v_stuck boolean; v_now bigint;
  v_given bigint[]; v_busy text[] := '{}'; v_lines text[] := '{}'; v_due uuid[] := '{}';
begin
  for v_name in
    select k.namespace, k.name, hashtextextended(current_schema() || E'\n' || k.namespace || E'\n' || k.name, 0) as place
      from (select l.namespace, l.name from unnest(a_namespace, a_run, a_seq) as a(namespace, run_id, seq)
              join locks l on l.run_id = a.run_id and l.seq = a.seq and l.namespace = a.namespace where not l.given_back
            union
            select l.namespace, l.name from unnest(b_namespace, b_run) as b(namespace, run_id)
              join locks l on l.run_id = b.run_id and l.namespace = b.namespace where l.given_back) k
     order by place, k.namespace, k.name
  loop
    perform pg_advisory_xact_lock(v_name.place);
    v_now := now_ms();
    v_stuck := false;
    -- Only these are deleted below. What is given back from here on may not be among the free places: it stays for whoever owes it.
    v_given := array(select l.lock_no from locks l where l.namespace = v_name.namespace and l.name = v_name.name and l.given_back);
    -- The newest request says how many there may be; those that wait are newer than those that are granted.
    v_free := (select l.places from locks l where l.namespace = v_name.namespace and l.name = v_name.name
                  and l.fence is null and not l.given_back order by l.lock_no desc limit 1)
            - (select count(*) from locks l where l.namespace = v_name.namespace and l.name = v_name.name
                  and l.fence is not null and not l.given_back);
    while v_free > 0 loop
      select l.run_id, l.seq, l.op, l.waits_since into v_lock from locks l
       where l.namespace = v_name.namespace and l.name = v_name.name and l.fence is null and not l.given_back
       order by l.lock_no limit 1;
      exit when not found;
      select r.epoch, r.held_by, r.delivered into v_run from runs r where r.run_id = v_lock.run_id for no key update skip locked;
      if not found then
        v_stuck := true;
        exit;
      end if;
      -- Until its run was locked, it may have been given back.
      update locks l set fence = nextval('lock_fences')
       where l.run_id = v_lock.run_id and l.seq = v_lock.seq and l.fence is null and not l.given_back returning l.fence into v_fence;
      continue when not found;
      v_free := v_free - 1;
      -- Only the holder of the run may take the answer for the message: whoever else asks may be a worker that has lost the run. And only
      -- if it was not told that it waits: then this may be a late copy of an earlier call, whose answer nobody reads any more.
      continue when v_run.held_by is not null and coalesce(v_lock.waits_since, -1) < v_run.epoch
                and (select 1 from unnest(a_run, a_seq, a_epoch) as a(run_id, seq, epoch)
                      where a.run_id = v_lock.run_id and a.seq = v_lock.seq and a.epoch = v_run.epoch limit 1) is not null;
      update runs r set delivered = r.delivered + 1,
          available_at = case when r.held_by is null and r.status <> 'parked' and r.started_at is not null
                              then least(r.available_at, v_now) else r.available_at end
       where r.run_id = v_lock.run_id;
      insert into inbox (run_id, number, kind, name, message_id, payload, at)
      values (v_lock.run_id, v_run.delivered + 1, 'lock_granted', v_lock.op, E'\tlock\t' || v_lock.seq || E'\t' || v_fence, '', v_now);
      if v_run.held_by is null then v_due := v_due || v_lock.run_id;
      else v_lines := v_lines || hint_lines('i', array[v_run.held_by::text], array[v_lock.run_id]); end if;
    end loop;
    if v_stuck then v_busy := v_busy || (v_name.namespace || E'\n' || v_name.name);
    else
      delete from locks l
       where l.namespace = v_name.namespace and l.name = v_name.name and l.given_back and l.lock_no = any (v_given);
    end if;
  end loop;
  -- Whoever is told here that it waits is told by a message when it is granted. A request that is being given back is not waited for.
  with told as (
    select l.run_id, l.seq, a.epoch from unnest(a_namespace, a_run, a_seq, a_epoch) as a(namespace, run_id, seq, epoch)
      join locks l on l.run_id = a.run_id and l.seq = a.seq and l.namespace = a.namespace
     where l.fence is null and not l.given_back and coalesce(l.waits_since, -1) < a.epoch
       and l.namespace || E'\n' || l.name <> all (v_busy)
       for no key update of l skip locked
  )
  update locks l set waits_since = t.epoch from told t where l.run_id = t.run_id and l.seq = t.seq;
  select string_agg(case when l.run_id is null then 'x' when l.fence is not null then 'g'
                         when l.waits_since >= a.epoch and l.namespace || E'\n' || l.name <> all (v_busy) then 'w'
                         else 'b' end, '' order by a.i),
         array_agg(l.fence order by a.i) into o_outcome, o_fence
    from unnest(a_namespace, a_run, a_seq, a_epoch) with ordinality as a(namespace, run_id, seq, epoch, i)
    left join locks l on l.run_id = a.run_id and l.seq = a.seq and l.namespace = a.namespace and not l.given_back;
  o_passed := array(
    select (select 1 from locks l where l.run_id = b.run_id and l.given_back limit 1) is null
      from unnest(b_run) with ordinality as b(run_id, i) order by b.i);
  if cardinality(v_due) > 0 then v_lines := v_lines || due_lines(v_due, v_now); end if;
  o_hints := send_hints(v_lines, p_notify);
end $$;

-- The requests of a name, first those that are granted; or those of a run.
create function list_locks(p_namespace text, p_name text, p_run uuid, p_limit int)
returns table (run_id uuid, id text, seq int, op text, name text, places int, fence bigint)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  if p_run is not null then
    return query
      select l.run_id, s.id, l.seq, l.op, l.name, l.places, l.fence from locks l join run_starts s using (run_id)
       where l.run_id = p_run and l.namespace = p_namespace and not l.given_back order by l.lock_no limit p_limit;
    return;
  end if;
  return query
    select k.run_id, s.id, k.seq, k.op, k.name, k.places, k.fence
      from ((select 0 as part, l.* from locks l
              where l.namespace = p_namespace and l.name = p_name and l.fence is not null and not l.given_back
              order by l.lock_no limit p_limit)
            union all
            (select 1, l.* from locks l
              where l.namespace = p_namespace and l.name = p_name and l.fence is null and not l.given_back
              order by l.lock_no limit p_limit)) k
      join run_starts s using (run_id) order by k.part, k.lock_no limit p_limit;
end $$;
`;
