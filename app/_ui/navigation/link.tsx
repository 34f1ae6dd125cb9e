"use client";
import NextLink from "next/link";
import { useRouter } from "next/navigation";
import type { ComponentProps } from "react";
import { useGo } from "./going.tsx";

/**
 * Shows a link to another page, which is prefetched when the pointer enters the link. Next would prefetch every link in
 * view while the page is still being drawn. In a list of transfers that is dozens of requests: each line links to a
 * node, a run and a checkpoint.
 */
export function Link({
  href,
  onPointerEnter,
  onNavigate,
  ...rest
}: ComponentProps<typeof NextLink> & { href: string }) {
  const router = useRouter();
  const go = useGo();
  return (
    <NextLink
      {...rest}
      href={href}
      prefetch={false}
      onPointerEnter={(event) => {
        if (href.startsWith("/")) router.prefetch(href);
        onPointerEnter?.(event);
      }}
      onNavigate={(event) => {
        onNavigate?.(event);
        // Anchors within the page need no navigation.
        if (go === null || href.startsWith("#")) return;
        event.preventDefault();
        go(href, { as: rest.replace === true ? "replacement" : "step", scroll: rest.scroll ?? true });
      }}
    />
  );
}
