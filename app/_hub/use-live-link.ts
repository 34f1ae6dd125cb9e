"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { hub } from "./client.ts";
import { liveStore } from "./live-store.ts";
import { createRefresh } from "./refresh-topics.ts";

const load = () => import("./live-link.ts");
// On its way while the hub is asked who this is.
const early = typeof window === "undefined" ? null : load();
early?.catch(() => undefined);

/** Keeps this page's part of the browser's one stream while somebody is signed in; null closes it. */
export function useLiveLink(personId: string | null): void {
  const client = useQueryClient();
  useEffect(() => {
    if (personId === null) return undefined;
    let stop = () => {};
    let isOver = false;
    const open = async () => {
      const { LiveLink } = await (early ?? load()).catch(load);
      if (isOver) return;
      const link = new LiveLink({
        store: liveStore,
        watch: (watching) => hub.live.watch.subscribe(undefined, watching),
        onStale: createRefresh(client),
        onSignedOut: () => void client.invalidateQueries({ queryKey: ["account"] }),
      });
      link.start();
      stop = () => link.stop();
    };
    // Without it the page says that it is not live.
    open().catch(() => liveStore.setLink("lost"));
    return () => {
      isOver = true;
      stop();
    };
  }, [personId, client]);
}
