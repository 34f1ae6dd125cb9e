"use client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { faultOf } from "./_hub/faults/fault-of.ts";
import { Toasts } from "./_ui/feedback/toast.tsx";

// Without this, the first zod schema probes `eval`, which the content security policy reports. The global is set directly,
// because zod's own function would load a part of zod on every page.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const TEMPORARY = new Set(["HUB_UNREACHABLE", "SHUTTING_DOWN"]);

/** Provides the contexts of every page. Only calls that never reached the hub are retried automatically. */
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
