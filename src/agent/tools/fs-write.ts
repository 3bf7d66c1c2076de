import * as z from 'zod'
import { defineTool } from './define.ts'
import { fileError } from './open-file.ts'
import { accessTo, placeOf } from './place.ts'
import { inTurn, writeReal } from './write-file.ts'

export const fsWrite = defineTool({
  name: 'fs.write',
  description:
    'Write a file as a whole, with the folders it needs; what was there is replaced. To change a part of a file use fs.edit.',
  input: z.object({ path: z.string(), content: z.string() }),
  access: accessTo('write'),
  async run(input, context) {
    const { real, shown } = placeOf(input, context)
    try {
      const isNew = await inTurn(real, () => writeReal(real, input.content))
      return { output: `${isNew ? 'Created' : 'Replaced'} ${shown} (${Buffer.byteLength(input.content)} bytes)` }
    } catch (error) {
      throw fileError(shown, error)
    }
  },
})
