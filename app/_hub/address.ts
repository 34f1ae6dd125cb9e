"use client";
import { usePathname, useRouter, useSearchParams } from "next/navigation";

/** One word of the view's state, kept in the address so that it can be shared and survives a reload. */
export function useAddressWord(name: string, fallback: string): [string, (value: string) => void] {
  const params = useSearchParams();
  const router = useRouter();
  const path = usePathname();
  const change = (value: string): void => {
    const next = new URLSearchParams(params);
    if (value === fallback) next.delete(name);
    else next.set(name, value);
    const query = next.toString();
    router.replace(query === "" ? path : `${path}?${query}`, { scroll: false });
  };
  return [params.get(name) ?? fallback, change];
}

/** Replaces all words of the view's state at once. */
export function useAddressWords(): (words: Record<string, string>) => void {
  const router = useRouter();
  const path = usePathname();
  return (words) => {
    const query = new URLSearchParams(words).toString();
    router.replace(query === "" ? path : `${path}?${query}`, { scroll: false });
  };
}
