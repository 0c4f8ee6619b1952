import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { UsageError } from "../../io/failure.ts";
import { isServer } from "../../io/open.ts";
import { shownUrl } from "../../io/target.ts";

export const migrate: Action = async (call) => {
  const target = call.target();
  if (isServer(target.url))
    throw new UsageError(
      "migrate works on a store, not through a server: name it with --url postgres://… or --url file:….",
    );
  const url = shownUrl(target.url);
  if (!call.flag("check")) {
    await call.open({ create: "always" });
    call.out.done(`${url} is up to date`, { url, upToDate: true });
    return EXIT.done;
  }
  await call.open({ create: "never" });
  call.out.done(`${url} is up to date`, { url, upToDate: true });
  return EXIT.done;
};
