import { describe, expect, test } from 'vitest'
import { EchoModel, TelegramChat, textOf } from './fixtures/telegram-chat.ts'
import type { TelegramServer } from './fixtures/telegram-server.ts'

const JPEG = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 1, 2, 3])
const PDF = Uint8Array.from([...Buffer.from('%PDF-'), 0, 0xff])

/** Opens a chat that reads files in the way that the guide shows. */
async function open(model: EchoModel, maxFileBytes?: number): Promise<TelegramChat> {
  const chat: TelegramChat = await TelegramChat.open({
    model,
    telegram: {
      ...(maxFileBytes === undefined ? {} : { maxFileBytes }),
      readFile: async ({ fileId }) => {
        const { file_path: path } = await chat.bot.api.getFile(fileId)
        const response = await fetch(`${chat.server.apiRoot}/file/bot${chat.bot.token}/${path}`)
        if (!response.ok) throw new Error(`Telegram answered ${response.status}`)
        return new Uint8Array(await response.arrayBuffer())
      },
    },
  })
  return chat
}

const filesOf = (model: EchoModel): unknown[] =>
  model.requests.flatMap(({ prompt }) =>
    prompt.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.filter(part => part.type === 'file'),
    ),
  )

function sendPhoto(server: TelegramServer, caption?: string): void {
  server.addFile('small', JPEG.slice(0, 4))
  server.addFile('large', JPEG)
  const photo = [
    { file_id: 'small', file_size: 4, width: 1, height: 1 },
    { file_id: 'large', file_size: 8, width: 2, height: 2 },
  ]
  server.sendContent({ photo, ...(caption === undefined ? {} : { caption }) })
}

describe('a photo', () => {
  test('reaches the model in its largest size, with its caption, and is stored', async () => {
    const model = new EchoModel()
    await using chat = await open(model)
    sendPhoto(chat.server, 'What is this?')
    expect(await chat.server.takeText()).toBe('Echo: What is this?')
    const data = Buffer.from(JPEG).toString('base64')
    expect(filesOf(model)).toEqual([
      expect.objectContaining({ mediaType: 'image/jpeg', data: { type: 'data', data } }),
    ])
    expect(JSON.stringify(await chat.store.read('local', 'telegram-7'))).toContain(data)
  })

  test('reaches the model in a smaller size if the largest one is above the limit', async () => {
    const model = new EchoModel()
    await using chat = await open(model, 5)
    sendPhoto(chat.server)
    await chat.server.takeText()
    const data = Buffer.from(JPEG.slice(0, 4)).toString('base64')
    expect(filesOf(model)).toEqual([expect.objectContaining({ data: { type: 'data', data } })])
  })
})

describe('a document', () => {
  test('with text reaches the model as text', async () => {
    const model = new EchoModel()
    await using chat = await open(model)
    chat.server.addFile('notes', Buffer.from('# Notes\nBuy milk. 😀'))
    chat.server.sendContent({
      document: { file_id: 'notes', file_name: 'notes.md', mime_type: 'text/markdown', file_size: 20 },
    })
    await chat.server.takeText()
    expect(textOf(model.requests[0])).toBe('The user attached the file "notes.md":\n\n# Notes\nBuy milk. 😀')
    expect(filesOf(model)).toEqual([])
  })

  test('with other content reaches the model as a file', async () => {
    const model = new EchoModel()
    await using chat = await open(model)
    chat.server.addFile('pdf', PDF)
    chat.server.sendContent({
      document: { file_id: 'pdf', file_name: 'a.pdf', mime_type: 'application/pdf' },
    })
    await chat.server.takeText()
    expect(filesOf(model)).toEqual([
      expect.objectContaining({ mediaType: 'application/pdf', filename: 'a.pdf' }),
    ])
  })

  test('above the limit is refused, also if Telegram did not report its size', async () => {
    const model = new EchoModel()
    await using chat = await open(model, 1_500_000)
    chat.server.addFile('big', new Uint8Array(1_500_001))
    for (const size of [{ file_size: 1_500_001 }, {}]) {
      chat.server.sendContent({ document: { file_id: 'big', file_name: 'big.bin', ...size } })
      expect(await chat.server.takeText()).toBe('"big.bin" is too large. The limit is 1.5 MB.')
    }
    expect(chat.server.calls.filter(({ method }) => method === 'getFile')).toHaveLength(1)
    expect(model.requests).toEqual([])
  })

  test('that cannot be read gets a short answer, and the reason is logged', async () => {
    const model = new EchoModel()
    await using chat = await open(model)
    chat.server.failNext('getFile', { error_code: 400, description: 'Bad Request: file is too big' })
    chat.server.sendContent({ document: { file_id: 'x', file_name: 'x.bin' } })
    expect(await chat.server.takeText()).toBe('"x.bin" could not be read. Send it again.')
    expect(chat.faults).toEqual([expect.stringMatching(/^a file could not be read: .*too big/)])
  })

  test('an animation is unsupported content, although Telegram also sends it as a document', async () => {
    await using chat = await open(new EchoModel())
    chat.server.sendContent({
      animation: { file_id: 'a' },
      document: { file_id: 'a', mime_type: 'video/mp4' },
    })
    expect(await chat.server.takeText()).toBe('I can read text, photos and documents only.')
  })
})
