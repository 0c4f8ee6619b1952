// Every picture of the dashboard, once per page; <Icon> and <Status> refer to them by name.
import { memo } from "react";

export const ICONS = [
  "logo",
  "overview",
  "runs",
  "grid",
  "clock",
  "queue",
  "worker",
  "task",
  "flow",
  "park",
  "audit",
  "gear",
  "search",
  "theme",
  "down",
  "right",
  "copy",
  "x",
  "menu",
  "eye",
  "plus",
  "check",
  "link",
  "warn",
  "left",
  "signal",
  "download",
  "dot",
] as const;
export type IconName = (typeof ICONS)[number];

/** The symbols that <use href> refers to. The shell renders it once. */
export const Sprite = memo(function Sprite() {
  return (
    <svg width="0" height="0" className="vh" aria-hidden="true">
      <defs>
        <StatusSymbols />
        <EndedSymbols />
        <IconSymbols />
        <MoreIconSymbols />
      </defs>
    </svg>
  );
});

function StatusSymbols() {
  return (
    <>
      <symbol id="s-pending" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="2.2 2" />
      </symbol>
      <symbol id="s-running" viewBox="0 0 14 14">
        <path d="M3.5 2.2v9.6L12 7z" fill="currentColor" />
      </symbol>
      <symbol id="s-sleeping" viewBox="0 0 14 14">
        <path d="M11.8 9A5.4 5.4 0 0 1 5 2.2a5.4 5.4 0 1 0 6.8 6.8z" fill="currentColor" />
      </symbol>
      <symbol id="s-waiting" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
        <path d="M7 1.8a5.2 5.2 0 0 1 0 10.4z" fill="currentColor" />
      </symbol>
      <symbol id="s-retrying" viewBox="0 0 14 14">
        <path
          d="M11.8 7.6a4.9 4.9 0 1 1-1.3-4.200M11.6 1.200v3.100H8.5"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="s-compensating" viewBox="0 0 14 14">
        <path
          d="M2.2 6.2h6.3a3 3 0 0 1 0 6H5M4.8 3.2l-3 3 3 3"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="s-parked" viewBox="0 0 14 14">
        <path d="M4.4 1h5.2L13 4.4v5.2L9.6 13H4.4L1 9.6V4.4z" fill="currentColor" />
        <path d="M5.6 10.5v-7h2a2 2 0 0 1 0 4h-2" fill="none" stroke="var(--surface)" strokeWidth="1.5" />
      </symbol>
    </>
  );
}

function EndedSymbols() {
  return (
    <>
      <symbol id="s-completed" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="6" fill="currentColor" />
        <path
          d="M4.2 7.2l2 2 3.6-4.2"
          fill="none"
          stroke="var(--surface)"
          strokeWidth="1.7"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
      <symbol id="s-failed" viewBox="0 0 14 14">
        <path d="M7 .4L13.6 7 7 13.6.4 7z" fill="currentColor" />
        <path d="M5.2 5.2l3.6 3.6M8.8 5.2L5.2 8.8" stroke="var(--surface)" strokeWidth="1.6" strokeLinecap="round" />
      </symbol>
      <symbol id="s-canceled" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
        <path d="M3.6 10.4l6.8-6.8" stroke="currentColor" strokeWidth="1.6" />
      </symbol>
      <symbol id="s-terminated" viewBox="0 0 14 14">
        <rect x="2" y="2" width="10" height="10" rx="1" fill="currentColor" />
      </symbol>
      <symbol id="s-timed_out" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
        <path d="M7 3.8V7l2.4 1.6" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />
      </symbol>
      <symbol id="s-continued" viewBox="0 0 14 14">
        <path
          d="M1.5 7h9M7.5 3.5L11 7l-3.5 3.5M13 3v8"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </symbol>
    </>
  );
}

function IconSymbols() {
  return (
    <>
      <symbol id="i-logo" viewBox="0 0 20 20">
        <path
          d="M10 2v9M10 11c0 3-3 3-4 6M10 11c0 3 3 3 4 6M10 11c-.2 2.5-.2 4 0 6M10 6c-2 0-3-1-3.5-3M10 8c2 0 3-1 3.5-3"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
        />
      </symbol>
      <symbol id="i-overview" viewBox="0 0 14 14">
        <path d="M1.5 12.500v-4M5 12.500v-8M8.5 12.500V7M12 12.500V2" />
      </symbol>
      <symbol id="i-runs" viewBox="0 0 14 14">
        <path d="M1.5 3h11M1.5 7h11M1.5 11h7" />
      </symbol>
      <symbol id="i-grid" viewBox="0 0 14 14">
        <path d="M1.5 1.500h4v4h-4zM8.5 1.500h4v4h-4zM1.5 8.500h4v4h-4zM8.5 8.500h4v4h-4z" />
      </symbol>
      <symbol id="i-clock" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5.5" />
        <path d="M7 4v3l2 1.5" />
      </symbol>
      <symbol id="i-queue" viewBox="0 0 14 14">
        <path d="M1.5 2.500h11v3h-11zM1.5 8.500h7v3h-7z" />
      </symbol>
      <symbol id="i-worker" viewBox="0 0 14 14">
        <path d="M2 2h10v7H2zM5 12h4M7 9v3" />
      </symbol>
      <symbol id="i-task" viewBox="0 0 14 14">
        <path d="M2 4l1.5 1.500L6 3M8 4.500h4.500M2 10l1.5 1.500L6 9M8 10.500h4.5" />
      </symbol>
      <symbol id="i-flow" viewBox="0 0 14 14">
        <circle cx="3" cy="7" r="1.7" />
        <circle cx="11" cy="3" r="1.7" />
        <circle cx="11" cy="11" r="1.7" />
        <path d="M4.6 6.200l4.8-2.400M4.6 7.800l4.8 2.4" />
      </symbol>
      <symbol id="i-park" viewBox="0 0 14 14">
        <path d="M4.5 1.500h5l3 3v5l-3 3h-5l-3-3v-5z" />
        <path d="M7 4.500v3M7 9.600v.1" />
      </symbol>
      <symbol id="i-audit" viewBox="0 0 14 14">
        <path d="M3 1.500h8v11H3zM5 4.500h4M5 7h4M5 9.500h2" />
      </symbol>
      <symbol id="i-gear" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="2" />
        <path d="M7 1.200v2M7 10.800v2M1.2 7h2M10.8 7h2M2.9 2.900l1.4 1.400M9.7 9.700l1.4 1.400M11.1 2.900L9.7 4.300M4.3 9.700l-1.4 1.4" />
      </symbol>
      <symbol id="i-search" viewBox="0 0 14 14">
        <circle cx="6" cy="6" r="4" />
        <path d="M9 9l3.5 3.5" />
      </symbol>
    </>
  );
}

function MoreIconSymbols() {
  return (
    <>
      <symbol id="i-theme" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="5.5" />
        <path d="M7 1.500v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" stroke="none" />
      </symbol>
      <symbol id="i-down" viewBox="0 0 14 14">
        <path d="M3.5 5.500L7 9l3.5-3.5" />
      </symbol>
      <symbol id="i-right" viewBox="0 0 14 14">
        <path d="M5.5 3.500L9 7l-3.5 3.5" />
      </symbol>
      <symbol id="i-copy" viewBox="0 0 14 14">
        <path d="M4.5 4.500h8v8h-8zM9.5 4.500v-3h-8v8h3" />
      </symbol>
      <symbol id="i-x" viewBox="0 0 14 14">
        <path d="M3.5 3.500l7 7M10.5 3.500l-7 7" />
      </symbol>
      <symbol id="i-menu" viewBox="0 0 14 14">
        <path d="M1.5 3.500h11M1.5 7h11M1.5 10.500h11" />
      </symbol>
      <symbol id="i-eye" viewBox="0 0 14 14">
        <path d="M1 7s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4z" />
        <circle cx="7" cy="7" r="1.8" />
      </symbol>
      <symbol id="i-plus" viewBox="0 0 14 14">
        <path d="M7 2.500v9M2.5 7h9" />
      </symbol>
      <symbol id="i-check" viewBox="0 0 14 14">
        <path d="M2.5 7.5l3 3 6-7" />
      </symbol>
      <symbol id="i-link" viewBox="0 0 14 14">
        <path d="M6 8a2.5 2.5 0 0 0 3.6 0l2-2A2.5 2.5 0 0 0 8 2.400l-.8.8M8 6a2.5 2.5 0 0 0-3.6 0l-2 2A2.5 2.5 0 0 0 6 11.600l.8-.8" />
      </symbol>
      <symbol id="i-warn" viewBox="0 0 14 14">
        <path d="M7 1.500l6 11H1zM7 5.500v3.500M7 10.800v.1" />
      </symbol>
      <symbol id="i-left" viewBox="0 0 14 14">
        <path d="M8.5 3.500L5 7l3.5 3.5" />
      </symbol>
      <symbol id="i-signal" viewBox="0 0 14 14">
        <path d="M1.5 3h11v8h-11zM1.5 3.500L7 8l5.5-4.5" />
      </symbol>
      <symbol id="i-download" viewBox="0 0 14 14">
        <path d="M7 1.500v7.500M3.8 6L7 9.2 10.2 6M2 12.500h10" />
      </symbol>
      <symbol id="i-dot" viewBox="0 0 14 14">
        <circle cx="7" cy="7" r="1.5" fill="currentColor" />
      </symbol>
    </>
  );
}
