/** Why the command ended: for scripts. docs/guide/command-line.md explains each. */
export const EXIT = {
  done: 0,
  /** The run did not complete, or something failed that has no code of its own. */
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  notAllowed: 5,
  conflict: 6,
  divergence: 7,
  timeout: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
