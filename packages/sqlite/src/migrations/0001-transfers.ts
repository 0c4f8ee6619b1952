/** The part of the first schema that is about runs that leave for another store, or arrive from one. */
export const TRANSFERS = `
-- Runs that have left, until they are known to have arrived: what their end here has overwritten.
create table holdfast_departures (
  run_id    blob primary key,
  epoch     integer not null,
  at        integer not null,
  namespace text not null,
  departure blob not null,
  target    text not null,
  shown     text not null,
  rest      text not null
) strict, without rowid;
create index holdfast_departures_namespace on holdfast_departures (namespace, run_id);

-- Which store this is: one row, once somebody has asked.
create table holdfast_identity (
  only_one integer primary key check (only_one = 1),
  store_id blob not null
) strict;

-- What became of the last arrival of an open run: refused is null if it has arrived.
create table holdfast_arrivals (
  run_id  blob primary key,
  epoch   integer not null,
  refused text
) strict, without rowid;

-- What a run that is about to leave waits for.
create index holdfast_watches_of on holdfast_watches (run_id);
create index holdfast_updates_of on holdfast_updates (reply_run_id) where reply_run_id is not null;
`;
