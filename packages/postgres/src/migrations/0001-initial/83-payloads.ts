export const PAYLOADS = String.raw`
-- Values, wherever they are, for whoever changes their encoding. Parts: 0 input, 1 output, 2 event, 3 message, 4 details.

-- The numbers of a part that are after a place are greater than this.
create function numbers_after(p_part int, p_after_part int, p_after_number int) returns int language sql immutable as $$
  select case when p_after_part < p_part then -1 when p_after_part = p_part then p_after_number else 2147483647 end $$;

-- Each part has its own limit, so that a page of a long history is one walk along its index.
create function read_payloads(
  p_namespace text[], p_run uuid[], p_part int[], p_number int[], p_kinds text[], p_limit int, p_bytes bigint)
returns table (i int, part int, number int, payload bytea)
language plpgsql stable security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  return query
    select k.i::int, v.part, v.number, v.payload
      from unnest(p_namespace, p_run, p_part, p_number) with ordinality as k(namespace, run_id, part, number, i)
      join run_starts s on s.run_id = k.run_id and s.namespace = k.namespace
      join runs r on r.run_id = k.run_id
     cross join lateral (
       select u.part, u.number, u.payload,
              sum(length(u.payload)) over (order by u.part, u.number rows unbounded preceding) - length(u.payload) as before
         from (
           select x.part, x.number, x.payload from (
             select 0 as part, 0 as number, s.input as payload where k.part < 0 and length(s.input) > 0
             union all
             select 1, 0, r.output where k.part < 1 and length(r.output) > 0
             union all
             (select 2, e.seq, e.payload from events e
               where e.run_no = r.run_no and e.seq > numbers_after(2, k.part, k.number) and length(e.payload) > 0
               order by e.seq limit p_limit)
             union all
             select 2, r.event_count, r.tail_payload
              where r.event_count > numbers_after(2, k.part, k.number) and length(r.tail_payload) > 0
             union all
             (select 3, m.number, m.payload from inbox m
               where m.run_id = r.run_id and m.number > numbers_after(3, k.part, k.number) and length(m.payload) > 0
                 and m.kind = any (p_kinds)
               order by m.number limit p_limit)
             union all
             (select 4, t.seq, t.details from tasks t
               where t.run_id = r.run_id and t.seq > numbers_after(4, k.part, k.number) and length(t.details) > 0
               order by t.seq limit p_limit)) x
           order by x.part, x.number limit p_limit) u) v
     where v.before < p_bytes
     order by k.i, v.part, v.number;
end $$;

-- Each value is decided on the locked row of its run; nothing here waits.
create function replace_payloads(
  p_namespace text[], p_run uuid[], p_part int[], p_number int[], p_from bytea[], p_to bytea[], p_kinds text[])
returns table (i int, outcome text)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
#variable_conflict use_column
declare v_locked uuid[]; v_tasks tid[]; v_place record; v_count int;
begin
  v_locked := array(
    select r.run_id from runs r where r.run_id = any (p_run) order by r.run_id for no key update skip locked);
  -- Packed copies of events have the old bytes.
  perform drop_segments(array_agg(k.namespace), array_agg(k.run_id))
     from (select distinct c.namespace, c.run_id from unnest(p_namespace, p_run, p_part) as c(namespace, run_id, part)
            where c.part = 2 and c.run_id = any (v_locked)) k
   having count(*) > 0;
  v_tasks := array(
    select t.ctid from unnest(p_run, p_part, p_number) as k(run_id, part, number)
      join tasks t on t.run_id = k.run_id and t.seq = k.number
     where k.part = 4 for no key update of t skip locked);
  for v_place in
    select k.i::int as i, k.run_id, k.part, k.number, k.old, k.new, r.run_no, r.consumed, r.held_by, r.owes
      from unnest(p_namespace, p_run, p_part, p_number, p_from, p_to) with ordinality
           as k(namespace, run_id, part, number, old, new, i)
      join run_starts s on s.run_id = k.run_id and s.namespace = k.namespace
      join runs r on r.run_id = k.run_id
     order by k.i
  loop
    i := v_place.i;
    if v_place.run_id <> all (v_locked)
       or v_place.part = 4 and (select t.ctid <> all (v_tasks) from tasks t
                                 where t.run_id = v_place.run_id and t.seq = v_place.number) then
      outcome := 'busy';
    elsif v_place.part = 3 and v_place.held_by is not null and v_place.number > v_place.consumed
       or v_place.part in (1, 2) and v_place.owes then
      outcome := 'in_use';
    else
      if v_place.part = 0 then
        update run_starts x set input = v_place.new where x.run_id = v_place.run_id and x.input in (v_place.old, v_place.new);
      elsif v_place.part = 1 then
        update runs x set output = v_place.new where x.run_id = v_place.run_id and x.output in (v_place.old, v_place.new);
      elsif v_place.part = 2 then
        update events x set payload = v_place.new
         where x.run_no = v_place.run_no and x.seq = v_place.number and x.payload in (v_place.old, v_place.new);
        if not found then
          update runs x set tail_payload = v_place.new
           where x.run_id = v_place.run_id and x.event_count = v_place.number and x.tail_payload in (v_place.old, v_place.new);
        end if;
      elsif v_place.part = 3 then
        update inbox x set payload = v_place.new
         where x.run_id = v_place.run_id and x.number = v_place.number and x.payload in (v_place.old, v_place.new)
           and x.kind = any (p_kinds);
      else
        update tasks x set details = v_place.new
         where x.run_id = v_place.run_id and x.seq = v_place.number and x.details in (v_place.old, v_place.new);
      end if;
      get diagnostics v_count = row_count;
      outcome := case when v_count > 0 then 'replaced' else 'changed' end;
    end if;
    return next;
  end loop;
end $$;
`;
