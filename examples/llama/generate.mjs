// SPDX-License-Identifier: Apache-2.0
//
// Generates text with llama.cpp's CUDA back end through node-llama-cpp:
//   node llama.mjs MODEL.gguf TOKENS
import {getLlama, LlamaCompletion} from "node-llama-cpp";

const [modelPath, tokens] = process.argv.slice(2);
const llama = await getLlama({gpu: "cuda", build: "never", skipDownload: true, progressLogs: false});
const model = await llama.loadModel({modelPath, gpuLayers: "max"});
const context = await model.createContext({contextSize: 512});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});
const text = await completion.generateCompletion(" w1 w2 w3", {maxTokens: Number(tokens), temperature: 0});
console.log(JSON.stringify({gpu: llama.gpu, layers: model.gpuLayers, characters: text.length, text}));
await llama.dispose();
