// A subscription that goes on for years. Each year is a run of its own, so that no history grows forever; all of them have
// the same id, and nobody outside notices where one ends and the next begins.
import { query, signal, update, workflow } from "holdfast";

export type Plan = "small" | "large";

/** What has been used. Nobody waits for an answer, and the first report starts the subscription. */
export const used = signal<number>("used");
export const changePlan = update<Plan, string>("change-plan");
export const stop = update<undefined, string>("stop");
export const status = query<string>("status");

/** What one year hands on to the next. */
export interface Account {
  readonly customer: string;
  readonly plan: Plan;
  /** How many months have been billed. */
  readonly months: number;
  /** What has been used since. */
  readonly units: number;
}

export const newAccount = (customer: string): Account => ({ customer, plan: "small", months: 0, units: 0 });

export type Bill = (customer: string, text: string, key: string) => void;

const CENTS = { small: { month: 500, unit: 10 }, large: { month: 2_000, unit: 1 } };
const MONTHS_OF_A_RUN = 12;

export function makeSubscription(bill: Bill) {
  return workflow("subscription", async (ctx, account: Account): Promise<string> => {
    const { customer } = account;
    let { plan, months, units } = account;
    let stopped = false;
    ctx.on(status, () => `${plan}, ${months} months billed, ${units} units since`);
    ctx.on(changePlan, {
      validate: (next) => {
        if (next === plan) throw new Error(`the plan is ${plan} already`);
      },
      handle: (next) => {
        plan = next;
        return `${plan} from month ${months + 1} on`;
      },
    });
    ctx.on(stop, () => {
      stopped = true;
      return `ends after month ${months + 1}`;
    });

    const billMonths = async () => {
      while (!stopped && months < account.months + MONTHS_OF_A_RUN) {
        await ctx.until(() => stopped, { timeout: "30 days" });
        const cents = CENTS[plan].month + units * CENTS[plan].unit;
        const text = `month ${months + 1}, ${plan}, ${units} units: ${cents} cents`;
        months += 1;
        units = 0; // before the step: what is used while the bill is written is on the next one
        await ctx.step("bill", (s) => bill(customer, text, s.idempotencyKey));
      }
    };
    const countUnits = async () => {
      for (;;) {
        const more = await ctx.receive(used); // not `units += await …`: that adds to what units was before the wait
        units += more;
      }
    };
    // When the year is over, nobody waits for signals any more; those that come then are the successor's.
    await ctx.race({ billMonths, countUnits });
    if (stopped) return `${customer} has left after ${months} months`;
    return ctx.continueAsNew({ customer, plan, months, units });
  });
}
