export const HINTS = String.raw`
-- Hints for other processes. A line is a type, a namespace or a worker, and the subject, separated by tabs: names contain
-- no control characters. The same lines are returned to the caller, which announces them in its own process.

-- Groups run ids under what they have in common: "e <namespace> <run>,<run>…", in lines that fit into a notification.
-- (In plpgsql, here and below: an SQL function that cannot be inlined is parsed and planned again at every call.)
create function hint_lines(p_type text, p_common text[], p_run uuid[]) returns text[] language plpgsql stable as $$
begin
  return array(
    select p_type || E'\t' || k.common || E'\t' || string_agg(k.run_id::text, ',')
      from (select t.common, t.run_id, (row_number() over (partition by t.common) - 1) / 150 as part
              from unnest(p_common, p_run) as t(common, run_id) where t.common is not null) k
     group by k.common, k.part);
end $$;

-- Groups tasks under the workers that hold them: "k <worker> <run>/<seq>,<run>/<seq>…".
create function task_lines(p_worker uuid[], p_run uuid[], p_seq int[]) returns text[] language plpgsql stable as $$
begin
  return array(
    select E'k\t' || k.worker_id || E'\t' || string_agg(k.run_id || '/' || k.seq, ',')
      from (select t.*, (row_number() over (partition by t.worker_id) - 1) / 150 as part
              from unnest(p_worker, p_run, p_seq) as t(worker_id, run_id, seq) where t.worker_id is not null) k
     group by k.worker_id, k.part);
end $$;

-- The queues of these lanes of tasks, each with the earliest of these times, unless that has come.
create function due_task_lines(p_lane int[], p_available bigint[], p_now bigint) returns text[]
language plpgsql stable set enable_seqscan = off as $$
begin
  return array(
    select E'q\t' || l.namespace || E'\t' || l.queue
           || case when min(k.at) > p_now then E'\t' || min(k.at) else '' end
      from (select d.lane_id, min(d.at) as at from unnest(p_lane, p_available) as d(lane_id, at)
             where d.at is not null group by d.lane_id) k
      join task_lanes l using (lane_id) group by l.namespace, l.queue);
end $$;

-- The queues in which at least one of these runs is due and not held.
create function due_lines(p_run uuid[], p_now bigint) returns text[] language plpgsql stable set enable_seqscan = off as $$
begin
  return array(
    select distinct E'd\t' || l.namespace || E'\t' || l.queue
      from runs r join lanes l using (lane_id)
     where r.run_id = any (p_run) and r.available_at <= p_now);
end $$;

-- Sends all lines in as few notifications as possible, at most 7999 bytes each. The channel is named after the schema.
create function send_hints(p_lines text[], p_notify boolean) returns text language plpgsql volatile as $$
declare v_line text; v_payload text := '';
begin
  if cardinality(p_lines) = 0 then return null; end if;
  if p_notify then
    foreach v_line in array p_lines loop
      if octet_length(v_payload) + octet_length(v_line) > 7900 then
        perform pg_notify(current_schema(), v_payload);
        v_payload := '';
      end if;
      v_payload := v_payload || case when v_payload = '' then '' else E'\n' end || v_line;
    end loop;
    perform pg_notify(current_schema(), v_payload);
  end if;
  return array_to_string(p_lines, E'\n');
end $$;
`;
