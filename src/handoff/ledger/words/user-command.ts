// Commands that the user ran in the agent's prompt (`!npm test`). Agents put them into messages in the user's role; they ask
// for nothing, but what they changed and what they said of the work counts like any other command.

export interface UserCommand {
  /** Claude Code writes the command and its output as two messages. */
  readonly command?: string
  readonly output?: string
}

export function userCommandIn(text: string): UserCommand | undefined {
  for (const form of forms) {
    const found = form.exec(text)
    if (found === null) continue
    const { command, output, errors } = found.groups ?? {}
    const printed = [output, errors].filter((each) => each !== undefined && each.trim() !== '').join('\n')
    return { ...(command !== undefined && { command }), ...(output !== undefined && { output: printed }) }
  }
  return undefined
}

const forms: readonly RegExp[] = [
  // Claude Code.
  /^\s*<bash-input>(?<command>[\s\S]*?)<\/bash-input>\s*$/,
  /^\s*<bash-stdout>(?<output>[\s\S]*)<\/bash-stdout>\s*(?:<bash-stderr>(?<errors>[\s\S]*)<\/bash-stderr>)?\s*$/,
  // Codex.
  /^\s*<user_shell_command>\s*<command>\n?(?<command>[\s\S]*?)\n?<\/command>\s*<result>\n?(?<output>[\s\S]*)<\/result>\s*<\/user_shell_command>\s*$/,
  // Gemini CLI.
  /^I ran the following shell command:\n```sh\n(?<command>[\s\S]*?)\n```\n\nThis produced the following result:\n```\n(?<output>[\s\S]*)\n```\s*$/,
  // pi.
  /^Ran `(?<command>[\s\S]*?)`\n```\n(?<output>[\s\S]*)\n```(?<errors>\n\nCommand exited with code \d+)?\s*$/,
]
