import { stateFolder } from "../host/state-folder.ts";
import { usage, type Verb } from "../command-line/verb.ts";
import { readHubAddress } from "./hub-address.ts";
import { connectHub, type Hub } from "./hub.ts";
import { readCredential } from "./node-credential.ts";

/** The hub of this machine, for a command that is typed beside the worker. */
export interface JoinedHub {
  hub: Hub;
  base: string;
  /** The node's credential as it is now. */
  secret(): string;
}

/**
 * Calls the hub as the node that this machine has joined as. The worker may replace the credential meanwhile: then the one in
 * the state folder is taken. `about.signal` ends all calls; `about.otherwise` says what to do on a machine without a hub.
 * Faults: BAD_INPUT, FOLDER_UNWRITABLE, HUB_PLAIN_HTTP.
 */
export async function joinHub(
  { config, home }: Pick<Verb, "config" | "home">,
  about: { command: string; otherwise: string; signal: AbortSignal },
): Promise<JoinedHub> {
  const state = await stateFolder(config.text("state"), home);
  const found = await readCredential(state);
  if (found === null) throw usage(about.command, `this machine has not joined a hub: ${about.otherwise}`);
  let secret = found.credential;
  const base = readHubAddress(found.hub, { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" });
  const takeOther = async (used: string | null): Promise<boolean> => {
    const now = await readCredential(state);
    const other = [now?.credential, now?.next].find((one) => one !== undefined && one !== used);
    if (other === undefined) return false;
    secret = other;
    return true;
  };
  const hub = connectHub(base, { credential: () => secret, signal: about.signal, takeOther });
  return { hub, base, secret: () => secret };
}
