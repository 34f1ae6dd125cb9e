import { randomUUID } from "node:crypto";
import { isFault } from "#protocol/faults/fault.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { AgentParts } from "./agent-assemble.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Config, PlatformFacts } from "../command-line/config.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { ConsoleReporter } from "./console-reporter.ts";
import { systemClock } from "../base/clock.ts";
import { createImds } from "../host/imds.ts";
import { enrol } from "../hub-link/enrol.ts";
import { createHubSource } from "../hub-link/hub-source.ts";
import { connectHub, type Hub } from "../hub-link/hub.ts";
import { readCredential, type Held } from "../hub-link/node-credential.ts";
import { rotateCredential, takeOther } from "../hub-link/rotate-credential.ts";
import type { Say } from "../standalone/keep-after-commits.ts";
import { openStandalone, type Standalone } from "../standalone/open-standalone.ts";

/** Connection to the hub, or to the bucket that stands in for one. No other module of the worker knows which. */
export interface Joined extends Pick<AgentParts, "hub" | "credential" | "createSource" | "rotate" | "secret"> {
  /** Ends all calls that are still open. */
  leave(): Promise<void>;
}

/** Parts of the command that joining needs. */
interface Joining {
  config: Config;
  terminal: Terminal;
  signal: AbortSignal;
  platform: Pick<PlatformFacts, "imdsUrl">;
  readsOnly?: true;
}

interface JoinParts {
  options: AgentOptions;
  state: string;
  facts: NodeFacts;
  reporter: ConsoleReporter;
}

/** Joins the hub, or opens the bucket that stands in for one. Faults: those of `enrol` and of `openStandalone`. */
export const join = (command: Joining, parts: JoinParts): Promise<Joined> =>
  parts.options.to === null ? joinHub(command, parts) : joinBucket(command, { ...parts, to: parts.options.to });

async function joinHub(command: Joining, { options, state, facts, reporter }: JoinParts): Promise<Joined> {
  const lifetime = new AbortController();
  const held: Held = { credential: await readCredential(state) };
  if (held.credential !== null && held.credential.hub !== options.hub) {
    // The credential belongs to another hub: this node has to enroll at the configured one.
    held.credential = null;
  }
  const hub = connectHub(options.hub, {
    credential: () => held.credential?.credential ?? null,
    signal: lifetime.signal,
    takeOther: (used) => takeOther(held, used, state),
  });
  const canEnrol = options.token !== null || options.withSaladIdentity;
  if (held.credential !== null && canEnrol && !(await isKnown(hub, facts))) held.credential = null;
  const isNew = held.credential === null;
  const credential = (held.credential ??= await enrol(hub, {
    ...options,
    identity: options.withSaladIdentity ? createImds(command.platform.imdsUrl).identity : null,
    base: options.hub,
    facts,
    state,
    clock: systemClock,
    signal: command.signal,
  }));
  reporter.joined(credential, { isNew });
  return {
    hub,
    credential,
    createSource: (profileId) => createHubSource(hub, profileId),
    rotate: () => rotateCredential(hub, held, state),
    secret: () => held.credential?.credential ?? "",
    leave: async () => lifetime.abort(),
  };
}

/** Returns false when the hub does not know this node, as after a rebuild. With a join token the node then enrolls again. */
async function isKnown(hub: Hub, facts: NodeFacts): Promise<boolean> {
  try {
    const bootId = randomUUID();
    await hub.ask("hello", (client, signal) =>
      client.node.hello.mutate({ protocol: PROTOCOL_VERSION, bootId, facts }, { signal }),
    );
    return true;
  } catch (error) {
    return !isFault(error) || error.code !== "NODE_UNKNOWN";
  }
}

async function joinBucket(
  { config, terminal, signal, readsOnly }: Joining,
  { options, state, to }: JoinParts & { to: string },
): Promise<Joined> {
  const lifetime = new AbortController();
  // The signal of the command ends only the opening: the last messages are sent after it has fired.
  const end = () => lifetime.abort();
  signal.addEventListener("abort", end, { once: true });
  const say: Say = (sentence, fields) => terminal.say(sentence, fields);
  const { name, keep } = options;
  const about = { to, name, state, keep, say, signal: lifetime.signal, ...(readsOnly === true && { readsOnly }) };
  const standalone = await openStandalone(config, about).finally(() => signal.removeEventListener("abort", end));
  const { hub, node, place } = standalone;
  if (readsOnly !== true) sayAlone(terminal, standalone);
  return {
    hub,
    credential: { hub: place, credential: "", ...node },
    createSource: () => standalone.createSource(),
    rotate: () => Promise.resolve(),
    secret: () => "",
    leave: async () => {
      lifetime.abort();
      await standalone.close();
    },
  };
}

function sayAlone(terminal: Terminal, { node, place, isConditional }: Standalone): void {
  terminal.say(`This is ${node.name}, alone: checkpoints go to ${place} with the keys of this machine.`, {
    type: "alone",
    node: node.name,
    place,
    isConditional,
  });
  if (!isConditional) {
    const sentence =
      "This store does not keep to conditional writes: two nodes that write one run at the same time are told apart afterwards, by their epochs; nothing is overwritten.";
    terminal.say(sentence, { type: "note", sentence });
  }
}
