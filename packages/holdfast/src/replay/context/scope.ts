/** A branch of a group, as events name it. */
export interface BranchName {
  /** The call of `ctx.parallel` or `ctx.race`: `parallel`, `parallel#2`, `race`… in the order of the calls. */
  readonly group: string;
  /** Its key in the object or list of branches. */
  readonly branch: string;
}

/**
 * A scope is a part of a run that can be canceled on its own: a branch of `ctx.parallel` or `ctx.race`, or the shielded
 * inside of `ctx.uncancelable`. Each op knows the scope that asked for it.
 */
export class Scope {
  readonly parent: Scope | null;
  /** Cancellation from outside stops here. */
  readonly shielded: boolean;
  /** The innermost branch that it is or belongs to. */
  readonly branch: BranchName | null;
  /** False once the branch has settled: what is asked for afterwards belongs to the parent. */
  open = true;
  /** Set when the owner of the scope has given up on it; later requests are refused with this. */
  canceled: Error | null = null;

  constructor(parent: Scope | null, shielded = false, branch: BranchName | null = parent?.branch ?? null) {
    this.parent = parent;
    this.shielded = shielded;
    this.branch = branch;
  }

  /** The branch has settled. */
  close(): void {
    this.open = false;
  }

  cancel(error: Error): void {
    this.canceled = error;
  }

  /** The scope that an op asked for in this scope actually belongs to. */
  nearestOpen(): Scope {
    let scope: Scope = this;
    while (!scope.open && scope.parent) scope = scope.parent;
    return scope;
  }

  /** Why nothing may be asked for here, if so. */
  cancellation(): Error | null {
    for (let scope: Scope | null = this; scope; scope = scope.parent) {
      if (scope.canceled) return scope.canceled;
      if (scope.shielded) return null;
    }
    return null;
  }

  /** Whether canceling `ancestor` reaches this scope. */
  isReachedFrom(ancestor: Scope): boolean {
    for (let scope: Scope | null = this; scope; scope = scope.parent) {
      if (scope === ancestor) return true;
      if (scope.shielded) return false;
    }
    return false;
  }
}
