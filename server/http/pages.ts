import { existsSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Hub } from "../core/api/hub.ts";
import { setPagePolicy } from "./security-headers.ts";

/**
 * The pages, rendered by Next behind the hub's own server. Next decides nothing about who may see what: the pages are
 * shells that ask the API. Without a build the API works anyway.
 */
export type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const refuse = (response: ServerResponse, status: number, sentence: string): void => {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(`${sentence}\n`);
};

/** Prepares the pages. `root` is the folder of the project, with the build in `.next`. */
export async function openPages(hub: Hub, root: string): Promise<{ serve: Pages; close: () => Promise<void> }> {
  if (!hub.settings.withPages || !existsSync(join(root, ".next", "BUILD_ID"))) {
    const why = hub.settings.withPages ? "they have not been built (npx next build)" : "TIDEMARK_NO_UI is set";
    return {
      serve: async (_request, response) => refuse(response, 503, `This hub serves no pages: ${why}. Its API works.`),
      close: async () => undefined,
    };
  }
  const { default: next } = await import("next");
  const app = next({ dev: false, dir: root, customServer: true });
  await app.prepare();
  const render = app.getRequestHandler();
  return {
    serve: async (request, response) => {
      const path = request.url ?? "/";
      // Next's image route fetches any URL in its query; nothing here needs it.
      if (decodeURIComponent(path.split("?", 1)[0] ?? "").startsWith("/_next/image"))
        return refuse(response, 404, "There is no such page.");
      if (!path.startsWith("/_next/static/")) await setPagePolicy(hub, request, response);
      await render(request, response);
    },
    close: () => app.close(),
  };
}
