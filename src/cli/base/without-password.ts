/** An address as it may be shown: without its password, and without a token of NATS, which stands there alone. */
export function withoutPassword(address: string): string {
  return address.replace(/(:\/\/[^/:@]*):.*@/, '$1:…@').replace(/((?:nats|tls):\/\/)[^/:@]+@/, '$1…@')
}
