import { usage, type CommandContext } from "../../command-line/command-context.ts";
import { askAsPerson, type PeopleClient } from "../../hub-link/hub.ts";
import { readHubAddress } from "../../hub-link/hub-address.ts";

/** Makes one call with the API token of a person. */
export type Ask = <T>(op: string, work: (client: PeopleClient, signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Reads address and token, without which nothing can be asked. @throws Fault BAD_INPUT, HUB_PLAIN_HTTP */
export function personOf({ config, signal }: CommandContext): Ask {
  const hub = config.text("hub");
  if (hub === null) throw usage("--hub", "it says which hub has the jobs: --hub URL or TIDEMARK_HUB");
  const base = readHubAddress(hub, { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" });
  const token = config.text("api-token");
  const where = "--api-token, TIDEMARK_API_TOKEN or TIDEMARK_API_TOKEN_FILE";
  if (token === null) throw usage("--api-token", `it needs an API token of your account: ${where}`);
  if (!token.startsWith("tmk_")) throw usage("--api-token", "an API token begins with tmk_; a join token is for nodes");
  return (op, work) => askAsPerson({ base, token, signal }, op, work);
}
