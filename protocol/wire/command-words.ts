import type { NodeCommand } from "./command-shapes.ts";

/** Describes a command: `hold everything`, `limit up to 2.0 MB/s`. */
export function commandWords(order: NodeCommand, rate: (bytesPerSecond: number) => string): string {
  const whole = (run: string | null) => (run === null ? "everything" : run);
  switch (order.kind) {
    case "hold":
    case "release": {
      const side = { up: "uploads of ", down: "restores of ", both: "" }[order.direction];
      return `${order.kind} ${side}${whole(order.run)}`;
    }
    case "limit": {
      const one = (name: string, limit: number | null | undefined) =>
        limit === undefined
          ? []
          : [`${name} ${limit === null ? "as started" : limit === 0 ? "without limit" : `to ${rate(limit)}`}`];
      return `limit ${[...one("up", order.up), ...one("down", order.down)].join(", ") || "nothing"}`;
    }
    case "priority":
      return `give ${order.run} ${order.priority} priority`;
    case "flush":
      return `upload ${whole(order.run)} now`;
    case "retry-uploads":
      return `try failed uploads of ${whole(order.run)} again`;
    case "cancel-uploads":
      return `cancel uploads of ${whole(order.run)}`;
    case "probe":
      return "measure the link";
    case "drain":
      return "finish uploads and take no more";
    case "stop":
      return "stop the worker";
    case "reallocate":
      return "give the machine back";
  }
}
