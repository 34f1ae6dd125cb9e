"use client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { faultOf } from "./_hub/faults/fault-of.ts";
import { Toasts } from "./_ui/feedback/toast.tsx";

// Otherwise the first schema tries whether code may be made from text, which the content security policy reports. Said where
// zod looks for it, and not by zod's own function: with that, every page would begin by loading a part of zod.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const TEMPORARY = new Set(["HUB_UNREACHABLE", "SHUTTING_DOWN"]);

/** What every page needs around it. Only calls that never reached the hub are repeated by themselves. */
export function Providers({ children }: { children: ReactNode }) {
  const [client] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          queries: {
            staleTime: 5000,
            retry: (count, error) => count < 3 && TEMPORARY.has(faultOf(error).code),
            networkMode: "always",
          },
          mutations: { retry: false, networkMode: "always" },
        },
      }),
  );
  return (
    <QueryClientProvider client={client}>
      {children}
      <Toasts />
    </QueryClientProvider>
  );
}
