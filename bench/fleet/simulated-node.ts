import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { id, runName, step } from "#protocol/base/names.ts";
import type { NodeEvent, ProgressReport } from "#protocol/wire/reports.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { callHub, type HubAddress } from "./talk.ts";

/**
 * Simulates one node that trains and uploads: a checkpoint of some gigabytes about every ten minutes, over a home uplink. Its
 * reports are those of a real worker; its outbox and the ids of its commands survive the hub.
 */

const GB = 1e9;
const REGIONS = ["us-east", "us-west", "eu-west", "eu-central", "ap-south", "sa-east"];
const pick = <T>(values: readonly T[], at: number): T | undefined => values[at % values.length];
const newId = () => id.parse(randomUUID().replaceAll("-", "").slice(0, 22));
const enrolAnswer = z.object({ credential: z.string(), nodeId: z.string() });

interface Moving {
  transferId: string;
  checkpointId: string;
  startedAt: number;
  bytes: number;
}

export interface SimulatedNode {
  readonly index: number;
  readonly credential: string;
  readonly bootId: string;
  isOpen: boolean;
  isDelivering: boolean;
  hello(): { protocol: number; bootId: string; facts: NodeFacts };
  /** Returns its report at `now` and advances its training. */
  report(now: number): ProgressReport;
  /** Takes a command; returns whether it had it before. */
  takeCommand(commandId: string): boolean;
  /** Returns the events that the hub does not have yet. */
  waiting(): NodeEvent[];
  /** Removes the events that the hub has, up to this number; returns the transfers whose ends were among them. */
  accepted(through: number): string[];
}

interface Given {
  /** The join token, or a credential that it has already. */
  token: string;
  credential: string | null;
  index: number;
  intervalMs: number;
}

/** Creates a node, which enrolls unless it has a credential. @throws Error with the hub's message */
export async function createSimulatedNode(hub: HubAddress, given: Given): Promise<SimulatedNode> {
  const { index, intervalMs } = given;
  const facts: NodeFacts = {
    hostname: `sim-${index}`,
    platform: "linux x64",
    cpus: 8,
    memoryBytes: 32 * GB,
    gpu: pick(["RTX 3090", "RTX 4090", "RTX 5090"], index) ?? null,
    labels: { region: pick(REGIONS, index) ?? "" },
    machineId: `machine-${index}`,
    workerVersion: "0.1.0",
  };
  const name = `sim-${String(index).padStart(5, "0")}`;
  const body = { token: given.token, name, protocol: PROTOCOL_VERSION, facts };
  const credential = given.credential ?? enrolAnswer.parse(await callHub(hub, { path: "node.enrol", body })).credential;
  const bootId = newId();
  const run = runName.parse(`run-${String(index).padStart(5, "0")}`);
  const uplink = 2.5e6 + (index % 97) * 0.25e6;
  const rtt = 20 + ((index * 37) % 240);
  const startedAt = Date.now();
  let seq = 0;
  let eventSeq = 0;
  let safe = { step: 0, at: startedAt };
  let nextUploadAt = startedAt + Math.random() * intervalMs;
  let moving: Moving | null = null;
  const outbox: NodeEvent[] = [];
  const taken = new Set<string>();

  function add(event: NodeEvent): void {
    outbox.push(event);
  }

  function moveOn(now: number): void {
    if (moving === null && now >= nextUploadAt) {
      const bytes = Math.round(uplink * (20 + (index % 60)));
      moving = { transferId: newId(), checkpointId: newId(), startedAt: now, bytes };
      nextUploadAt = now + intervalMs * (0.8 + Math.random() * 0.4);
    } else if (moving !== null && (now - moving.startedAt) * uplink >= moving.bytes * 1000) {
      const at = moving.startedAt;
      safe = { step: safe.step + 500, at };
      add({
        seq: ++eventSeq,
        at: now,
        type: "transfer-ended",
        transferId: moving.transferId,
        direction: "upload",
        state: "done",
        checkpointId: moving.checkpointId,
        run,
        step: step.parse(safe.step),
        bytes: moving.bytes,
        files: 4,
        sentBytes: moving.bytes,
        startedAt: at,
        retries: 0,
        connections: 24,
        startedBy: "queue",
        fault: null,
      });
      moving = null;
    }
  }

  function report(now: number): ProgressReport {
    moveOn(now);
    const movedBytes =
      moving === null ? 0 : Math.min(moving.bytes, Math.round(((now - moving.startedAt) * uplink) / 1000));
    const rate = moving === null ? 0 : uplink * (0.9 + Math.random() * 0.2);
    seq++;
    return {
      bootId,
      seq,
      at: now,
      upBytesPerSecond: rate,
      downBytesPerSecond: 0,
      // The watched node reports another number each time, so that its way to the screen can be measured.
      rttMs: index === 0 ? 1000 + (seq % 8000) : rtt + Math.round(Math.random() * 10),
      disk: { freeBytes: 80 * GB, totalBytes: 200 * GB, path: "/workspace" },
      cpuPercent: 3,
      logTail: null,
      runs: [
        {
          run,
          writerEpoch: null,
          unsafeCheckpoints: moving === null ? 0 : 1,
          unsafeFiles: moving === null ? 0 : 4,
          unsafeBytes: moving === null ? 0 : moving.bytes,
          movedBytes,
          oldestUnsafeAt: moving?.startedAt ?? null,
          safeStep: safe.step === 0 ? null : step.parse(safe.step),
          safeAt: safe.step === 0 ? null : safe.at,
          safeBytes: safe.step === 0 ? 0 : 2 * GB,
          localStep: step.parse(safe.step + (moving === null ? 0 : 500)),
          localAt: moving?.startedAt ?? safe.at,
          startedAt,
          intervalMs,
          trainedStep: null,
          trainedAt: null,
          idleMs: 0,
          leastIntervalMs: 120_000,
        },
      ],
      transfers:
        moving === null
          ? []
          : [
              {
                id: moving.transferId,
                direction: "upload",
                state: "running",
                checkpointId: moving.checkpointId,
                run,
                step: step.parse(safe.step + 500),
                bytesDone: movedBytes,
                bytesTotal: moving.bytes,
                filesDone: 1,
                filesTotal: 4,
                currentPath: "model-00001-of-00004.safetensors",
                bytesPerSecond: rate,
                startedAt: moving.startedAt,
                connections: 24,
                retries: 0,
                pieces: "#".repeat(Math.floor((60 * movedBytes) / moving.bytes)).padEnd(60, "."),
                stalledMs: null,
                fault: null,
                startedBy: "queue",
              },
            ],
    };
  }

  return {
    index,
    credential,
    bootId,
    isOpen: false,
    isDelivering: false,
    hello: () => ({ protocol: PROTOCOL_VERSION, bootId, facts }),
    report,
    takeCommand: (commandId) => {
      if (taken.has(commandId)) return true;
      taken.add(commandId);
      const about = { at: Date.now(), commandId: id.parse(commandId) };
      add({ ...about, seq: ++eventSeq, type: "command-accepted" });
      add({ ...about, seq: ++eventSeq, type: "command-ended", outcome: "done", fault: null });
      return false;
    },
    waiting: () => outbox.slice(0, 100),
    accepted: (through) => {
      const ended: string[] = [];
      for (let first = outbox[0]; first !== undefined && first.seq <= through; first = outbox[0]) {
        if (first.type === "transfer-ended") ended.push(first.transferId);
        outbox.shift();
      }
      return ended;
    },
  };
}
