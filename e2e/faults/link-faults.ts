import type { FaultClass, Scene } from "./fault-class.ts";
import { sleep, slowly, whenMoved } from "./pace.ts";

/** What the way to the store can do. All of it happens in a proxy of our own, below HTTP. */

const MIB = 1024 * 1024;
const outageMs = ({ seed, scale }: Scene): number => {
  const lengths = scale === "short" ? [100, 1_000] : [100, 1_000, 10_000, 60_000];
  return lengths[seed % lengths.length] ?? 100;
};
const blackholeMs = ({ scale, stallMs }: Scene) => (scale === "short" ? 2.5 * stallMs : 30_000);
const BOTH = ["up", "down"] as const;

export const LINK_FAULTS: readonly FaultClass[] = [
  {
    name: "link-drop",
    says: "All connections are reset in mid-transfer, and none can be made for a while.",
    catalogue: [1],
    bar: [1],
    directions: BOTH,
    shapes: ["one"],
    through: "proxy",
    flags: slowly,
    lastsMs: outageMs,
    partsPerFault: 0,
    during: async (scene, copy) => {
      if ((await whenMoved(scene, copy, 0.1 + 0.7 * scene.random.next())) === "over") return undefined;
      scene.note({ outageMs: outageMs(scene) });
      await scene.rig.proxy.down();
      await sleep(outageMs(scene));
      await scene.rig.proxy.up();
      return undefined;
    },
  },
  {
    name: "store-away-at-start",
    says: "The store cannot be reached when the transfer starts, and comes a little later.",
    catalogue: [1],
    bar: [1],
    directions: BOTH,
    through: "proxy",
    uncounted: true,
    lastsMs: outageMs,
    arm: (scene) => scene.rig.proxy.down(),
    during: async (scene) => {
      await sleep(outageMs(scene));
      await scene.rig.proxy.up();
      return undefined;
    },
  },
  {
    name: "resets",
    says: "Connections are reset in the middle of a body.",
    catalogue: [5, 29],
    bar: [3],
    directions: BOTH,
    through: "proxy",
    arm: ({ rig, random, direction, data }) => {
      const times = Math.max(1, Math.round(data.length * 0.1));
      const afterBytes = random.whole(2_000, 4 * MIB);
      rig.proxy.arm({ direction, share: 0.5, times, toxic: { kind: "reset-peer", afterBytes } });
      // One that hits for sure, whatever the draw.
      rig.proxy.arm({ direction, times: 3, toxic: { kind: "reset-peer", afterBytes: random.whole(1, 1_500) } });
    },
  },
  {
    name: "closed-early",
    says: "Connections are closed in an orderly way before everything was said.",
    catalogue: [5, 6],
    bar: [5],
    directions: BOTH,
    through: "proxy",
    arm: ({ rig, random, direction }) => {
      rig.proxy.arm({ direction, times: 3, toxic: { kind: "limit-data", afterBytes: random.whole(1, 1_500) } });
      rig.proxy.arm({
        direction,
        share: 0.3,
        times: 2,
        toxic: { kind: "limit-data", afterBytes: random.whole(2_000, 4 * MIB) },
      });
    },
  },
  {
    name: "blackhole",
    says: "Packets vanish in silence for a while, then the link is back.",
    catalogue: [3, 4],
    bar: [2],
    directions: BOTH,
    shapes: ["one"],
    through: "proxy",
    flags: slowly,
    lastsMs: blackholeMs,
    partsPerFault: 1,
    during: async (scene, copy) => {
      const { proxy } = scene.rig;
      if ((await whenMoved(scene, copy, 0.1 + 0.6 * scene.random.next())) === "over") return undefined;
      const lifts = BOTH.map((direction) => proxy.arm({ direction, toxic: { kind: "blackhole", afterBytes: 0 } }));
      await sleep(blackholeMs(scene));
      for (const lift of lifts) lift();
      return undefined;
    },
  },
  {
    name: "some-blackholed",
    says: "Some connections die in silence and never come back; the others go on.",
    catalogue: [3, 4],
    bar: [2, 4],
    directions: BOTH,
    through: "proxy",
    arm: ({ rig, random, direction }) => {
      const afterBytes = random.whole(1, 2_000);
      rig.proxy.arm({ direction, times: random.whole(1, 2), toxic: { kind: "blackhole", afterBytes } });
      // Those may be connections that are opened ahead and not used, or for one answer: two more, that die by any answer.
      rig.proxy.arm({ direction, times: 2, toxic: { kind: "blackhole", afterBytes: random.whole(1, 200) } });
    },
  },
  {
    name: "bad-line",
    says: "Bytes arrive late, unevenly and in small pieces; nothing is lost.",
    catalogue: [33],
    bar: [28],
    directions: BOTH,
    through: "proxy",
    stallMs: 10_000,
    arm: ({ rig, random, direction }) => {
      rig.proxy.arm({ direction, toxic: { kind: "latency", ms: random.whole(20, 60), jitterMs: 20 } });
      rig.proxy.arm({ direction, toxic: { kind: "slicer", pieceBytes: 32_768, delayMs: 1 } });
    },
    check: (_, ending) => (ending.retries === 0 ? [] : [`${ending.retries} parts were tried again for no reason`]),
  },
  {
    name: "slow-close",
    says: "The end of a connection is told late.",
    catalogue: [29],
    bar: [26],
    directions: BOTH,
    through: "proxy",
    uncounted: true,
    arm: ({ rig }) => {
      for (const direction of BOTH) rig.proxy.arm({ direction, toxic: { kind: "slow-close", ms: 1_500 } });
    },
  },
  {
    name: "narrow-link",
    says: "Every connection is slow, slower than the watchdog would like a whole part to take.",
    catalogue: [3, 4],
    bar: [28],
    directions: BOTH,
    shapes: ["one"],
    through: "proxy",
    concurrency: 4,
    // What the system holds in its buffers moves without being seen to.
    stallMs: 5_000,
    lastsMs: () => 10_000,
    arm: ({ rig, direction, payload }) => {
      // A part takes half as long as the watchdog waits.
      rig.proxy.arm({ direction, toxic: { kind: "bandwidth", bytesPerSecond: Math.round(payload.totalBytes / 5) } });
    },
    check: (_, ending) => (ending.retries === 0 ? [] : [`${ending.retries} parts were given up although bytes moved`]),
  },
];
