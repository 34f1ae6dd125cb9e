import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { MetricsDoor } from "../platform/env.ts";

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

const digest = (text: string): Buffer => hash("sha256", text, "buffer");

/** Returns whether a proxy forwarded the request: behind a local proxy everybody seems to come from loopback. */
const wasForwarded = ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
  headers["x-forwarded-for"] !== undefined || headers["forwarded"] !== undefined || headers["via"] !== undefined;

type Asked = Pick<IncomingMessage, "headers"> & { socket: Pick<IncomingMessage["socket"], "remoteAddress"> };

/** Returns the status to answer instead of the metrics, or null when the caller may read them. */
export function refuseMetrics(door: MetricsDoor, request: Asked): 401 | 404 | null {
  const isHere = LOOPBACK.test(request.socket.remoteAddress ?? "") && !wasForwarded(request);
  if (door.audience === "nobody" || (door.audience === "loopback" && !isHere)) return 404;
  if (door.token === null) return null;
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  return timingSafeEqual(digest(given), digest(door.token)) ? null : 401;
}
