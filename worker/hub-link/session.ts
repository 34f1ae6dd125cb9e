import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { nodeStore, type HubFeature, type NodeFacts, type NodeSettings, type NodeStore } from "#protocol/wire/hello.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Hub } from "./hub.ts";
import type { Outbox } from "./outbox.ts";

/** Answer of the hub to the last hello: store, settings and clock. The store is kept on disk for starts without the hub. */
export interface Session {
  /** Greets the hub. @throws Fault PROTOCOL_MISMATCH, NODE_UNKNOWN, NODE_REVOKED, HUB_UNREACHABLE */
  hello(): Promise<void>;
  readonly store: NodeStore | null;
  settings: NodeSettings;
  /** Tells whether the hub supports a feature; null before the first hello of this process. */
  knows(feature: HubFeature): boolean | null;
  /** Returns epoch ms by the hub's clock, which dates signatures. */
  hubNow(): number;
  readonly name: string;
}

export interface SessionParts {
  hub: Hub;
  state: string;
  name: string;
  bootId: string;
  facts: NodeFacts;
  outbox: Outbox;
  wallNow(): number;
  /** Returns monotonic milliseconds. */
  monotonicNow?(): number;
}

const FIRST_SETTINGS: NodeSettings = { reportEveryMs: 2_000 };

export async function openSession(parts: SessionParts): Promise<Session> {
  const path = join(parts.state, "store.json");
  const monotonicNow = parts.monotonicNow ?? (() => performance.now());
  const known = {
    offsetMs: 0,
    sinceStartMs: -Infinity,
    store: await readStateFile(path, nodeStore),
    name: parts.name,
    features: null as readonly HubFeature[] | null,
  };
  let last: Promise<void> = Promise.resolve();
  const session: Session = {
    get store() {
      return known.store;
    },
    get name() {
      return known.name;
    },
    settings: FIRST_SETTINGS,
    knows: (feature) => known.features?.includes(feature) ?? null,
    // The later of two estimates: the wall clock may be set back, the monotonic clock stops while the machine sleeps. A time
    // too late only renews signatures early. A time too early would make an expired signature look like a denied one.
    hubNow: () => Math.max(parts.wallNow() + known.offsetMs, monotonicNow() + known.sinceStartMs),
    hello: () => {
      // Two at once would write the same state file.
      const turn = last.then(sayHello, sayHello);
      last = turn;
      return turn;
    },
  };
  async function sayHello(): Promise<void> {
    const { bootId, facts } = parts;
    const askedAt = parts.wallNow();
    const answer = await parts.hub.ask("hello", (client, signal) =>
      client.node.hello.mutate({ protocol: PROTOCOL_VERSION, bootId, facts }, { signal }),
    );
    if (!answer.accepted) {
      const older = answer.reason === "worker-too-old" ? "the worker is the older one" : "the hub is the older one";
      throw new Fault("PROTOCOL_MISMATCH", {
        op: "hello",
        detail: `${older}: ${PROTOCOL_VERSION} and ${answer.hubProtocol}`,
      });
    }
    known.offsetMs = answer.hubTimeMs - (askedAt + parts.wallNow()) / 2;
    known.sinceStartMs = answer.hubTimeMs - monotonicNow();
    known.name = answer.name;
    known.features = answer.features ?? [];
    session.settings = answer.settings;
    if (answer.store !== null && JSON.stringify(answer.store) !== JSON.stringify(known.store)) {
      await writeStateFile(path, answer.store);
    }
    known.store = answer.store;
    await parts.outbox.meet(answer.acceptedThrough);
  }
  return session;
}
