// Functions that build the architectures of the zoo, one per family; each returns the result of the network.
#pragma once

#include "zoo/Network.h"

namespace lathe::zoo {

Signal alexnet(Network &n);                                                 // Krizhevsky 2014, arXiv:1404.5997
Signal vgg(Network &n, const std::vector<int> &convolutionsPerStage);       // Simonyan, Zisserman 2014, arXiv:1409.1556
Signal resnet(Network &n, const std::vector<int> &blocks, bool bottleneck); // He et al. 2015, arXiv:1512.03385
Signal densenet(Network &n, const std::vector<int> &layers, int64_t growth,
                int64_t initial);  // Huang 2016, arXiv:1608.06993
Signal googlenet(Network &n);      // Szegedy et al. 2014, arXiv:1409.4842
Signal inceptionV2(Network &n);    // Ioffe, Szegedy 2015, arXiv:1502.03167 (BN-Inception)
Signal inceptionV3(Network &n);    // Szegedy et al. 2015, arXiv:1512.00567
Signal squeezenet(Network &n);     // Iandola et al. 2016, arXiv:1602.07360 (version 1.1)
Signal mobilenetV1(Network &n);    // Howard et al. 2017, arXiv:1704.04861
Signal mobilenetV2(Network &n);    // Sandler et al. 2018, arXiv:1801.04381
Signal mobilenetV3(Network &n);    // Howard et al. 2019, arXiv:1905.02244 (large)
Signal efficientnetB0(Network &n); // Tan, Le 2019, arXiv:1905.11946
Signal shufflenetV2(Network &n);   // Ma et al. 2018, arXiv:1807.11164 (1.0x)
Signal vitB16(Network &n);         // Dosovitskiy et al. 2020, arXiv:2010.11929
Signal unet(Network &n);           // Ronneberger et al. 2015, arXiv:1505.04597
Signal twoLayerLstm(Network &n);   // a network of two LSTM layers; see Recurrent.cpp
Signal bertBase(Network &n);       // Devlin et al. 2018, arXiv:1810.04805
/// GPT-2 small (Radford et al. 2019). `whole` reads a whole sequence, `past` one token after a past of known length,
/// `decoder` one token after a past of any length P; `decoder` also returns the most likely next token.
enum class Gpt2Form { whole, past, decoder };
Signal gpt2Small(Network &n, Gpt2Form form);
Signal rcnnCtcOcr(Network &n); // a recurrent network that reads a line of text; see Ocr.cpp

} // namespace lathe::zoo
