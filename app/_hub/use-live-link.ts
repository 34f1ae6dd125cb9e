"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { hub } from "./client.ts";
import { LiveLink } from "./live-link.ts";
import { liveStore } from "./live-store.ts";
import { createRefresh } from "./refresh-topics.ts";

/** Keeps this page's part of the browser's one stream while somebody is signed in; null closes it. */
export function useLiveLink(personId: string | null): void {
  const client = useQueryClient();
  useEffect(() => {
    if (personId === null) return;
    const link = new LiveLink({
      store: liveStore,
      watch: (watching) => hub.live.watch.subscribe(undefined, watching),
      onStale: createRefresh(client),
      onSignedOut: () => void client.invalidateQueries({ queryKey: ["account"] }),
    });
    link.start();
    return () => link.stop();
  }, [personId, client]);
}
