// A run can wait: for a signal from outside, for a time, or for whichever comes first. While it waits it needs no
// process at all. The times are short so that the example ends; "3 days" works the same way.
import { connect, signal, workflow } from "holdfast";

const confirm = signal<{ by: string }>("confirm");

const booking = workflow("booking", async (ctx, input: { room: string }) => {
  for (let reminders = 0; reminders < 2; reminders++) {
    const confirmation = await ctx.receive(confirm, { timeout: "500ms" });
    if (confirmation !== undefined) {
      await ctx.sleep("until-the-stay", "100ms");
      return `${input.room}: confirmed by ${confirmation.by} after ${reminders} reminder(s)`;
    }
    await ctx.step("remind", () => console.log(`reminding the guest of ${input.room}`));
  }
  return `${input.room}: given to another guest`;
});

const hf = await connect("memory:");
await hf.worker({ workflows: [booking] }).start();

// A signal is kept until the run receives it, so it may be sent right after the start.
const quick = await hf.start(booking, { room: "room 1" });
await quick.signal(confirm, { by: "Ann" });
console.log(await quick.result());

// No confirmation: two reminders, then the room is free.
console.log(await hf.run(booking, { room: "room 2" }));

await hf.close();
